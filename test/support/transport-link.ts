import { type CredentialOptions, createCredentials } from '../../src/network/credentials.ts'
import {
  createLink,
  type Link,
  type LinkListener,
  type LinkOptions,
} from '../../src/network/realtime-socket.ts'
import { type ManualSockets, manualSockets } from './transport-sockets.ts'
import { settle, VirtualClock } from './virtual-clock.ts'
import { seededRandom, VirtualLifecycle } from './virtual-environment.ts'

export interface LinkSetup {
  readonly link: Link
  readonly clock: VirtualClock
  readonly lifecycle: VirtualLifecycle
  readonly sockets: ManualSockets
  /** What the listener was told, in order. */
  readonly log: string[]
  /** Starts the link and opens its socket. */
  open(): Promise<void>
  /** Goes on to when the link tries again. */
  retry(): Promise<void>
}

export interface LinkSetupOptions {
  readonly credentials?: CredentialOptions
  readonly sendsHeaders?: boolean
  readonly world?: Partial<LinkOptions['world']>
  readonly seed?: number
}

/** A link over sockets that a test drives, in virtual time. */
export function linkSetup(options: LinkSetupOptions = {}): LinkSetup {
  const { credentials = { token: 's3cret' }, sendsHeaders = false, seed = 1, world } = options
  const clock = new VirtualClock()
  const lifecycle = new VirtualLifecycle()
  const sockets = manualSockets({ sendsHeaders })
  const log: string[] = []
  const listener: LinkListener = {
    opened: () => log.push('opened'),
    message: (data) => log.push(`message ${data}`),
    lost: ({ wasOpen, code }) => log.push(`lost ${wasOpen ? 'open' : 'opening'} ${code}`),
  }
  const link = createLink({
    world: { clock, lifecycle, random: seededRandom(seed), WebSocket: sockets.WebSocket, ...world },
    wsUrl: 'wss://api.test/ws?v=1',
    credentials: createCredentials(credentials),
    listener,
  })
  return {
    link,
    clock,
    lifecycle,
    sockets,
    log,
    async open() {
      link.start()
      await settle()
      sockets.last.opens()
    },
    async retry() {
      const { state } = link
      if (state.name !== 'waiting') throw new Error('It does not wait.')
      await clock.advance(state.retryAt - clock.now())
    },
  }
}
