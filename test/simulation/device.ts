import type { MockDevice, MockSyncServer, VirtualClock } from 'instep/testing'
import { Disk } from './stores.ts'
import type { Tab } from './tab.ts'

/** After so long, in ms, a device knows that it is offline: where it is told, and where it has to find out. */
const knownMs = { cut: 2_000, down: 60_000 }

export type Answer = 'lost' | 'late'

export interface DeviceOptions {
  readonly name: string
  readonly server: MockSyncServer<VirtualClock>
  readonly storeMs: number
  readonly tokenOf: (identity: string) => string
  /** Hears of the ids of each request's transactions, and whether they came with another user's credentials. */
  readonly onReceived: (ids: readonly string[], isOther: boolean) => void
  readonly onAnswered: (results: readonly { readonly id: string; readonly sid?: number }[]) => void
}

/** A device of Ada's: its network, its disk and its tabs. */
export class Device {
  readonly name: string
  readonly identity = 'ada'
  readonly mock: MockDevice<VirtualClock>
  readonly clock: VirtualClock
  readonly disk = new Disk()
  readonly storeMs: number
  readonly tokenOf: (identity: string) => string
  readonly tabs = new Map<number, Tab>()
  /** Whose credentials the session that all tabs share holds. */
  signedIn = 'ada'
  isCut = false
  /** What becomes of the next answers to transactions. */
  readonly answers: Answer[] = []
  /** Since when every tab reaches the server, since when none does, and since when the store takes writes. */
  reachableSince: number | undefined
  unreachableSince: number | undefined
  storeFineSince: number | undefined
  /** Since when the device itself is cut off, of which it is told at once. */
  cutSince: number | undefined
  /** When its user last deleted what the browser had stored. */
  clearedAt: number | undefined

  constructor({ name, server, storeMs, tokenOf, onReceived, onAnswered }: DeviceOptions) {
    this.name = name
    this.storeMs = storeMs
    this.tokenOf = tokenOf
    this.clock = server.clock
    this.mock = server.device()
    this.mock.network.use({
      fetch: async (request) => {
        if (!request.url.endsWith('/tx')) return server.fetch(request)
        const body: { readonly txs: readonly { readonly id: string }[] } = await request.clone().json()
        const token = request.headers.get('authorization')?.replace('Bearer ', '')
        const response = server.fetch(request)
        onReceived(
          body.txs.map(({ id }) => id),
          token !== tokenOf(this.identity),
        )
        const answer = this.answers.shift()
        if ((await response).ok) onAnswered((await (await response).clone().json()).results)
        if (answer === 'lost') throw new TypeError('The connection broke.')
        if (answer === 'late') await new Promise<void>((resolve) => void this.clock.after(2_000, resolve))
        return response
      },
      upgrade: (request) => server.upgrade(request),
    })
    this.note(true)
  }

  get openTabs(): readonly Tab[] {
    return [...this.tabs.values()].filter(({ isOpen }) => isOpen)
  }

  /** Since when it is offline, if it knows that. */
  get offlineSince(): number | undefined {
    const now = this.clock.now()
    const { unreachableSince = now, cutSince = now } = this
    const isStopped = this.openTabs.length > 0 && this.openTabs.every(({ isStopped }) => isStopped)
    const isKnown = isStopped || now - cutSince >= knownMs.cut || now - unreachableSince >= knownMs.down
    return isKnown ? this.unreachableSince : undefined
  }

  cut(): void {
    if (this.isCut) return
    this.isCut = true
    this.mock.disconnect()
  }

  mend(): void {
    if (!this.isCut) return
    this.isCut = false
    this.mock.reconnect()
  }

  /** Notes since when the network and the store are as they are. */
  note(isServerUp: boolean): void {
    const now = this.clock.now()
    const isReachable = isServerUp && !this.isCut && this.signedIn === this.identity
    const stopped = this.openTabs.filter(({ isStopped }) => isStopped).length
    const isQuiet = !isReachable || (stopped > 0 && stopped === this.openTabs.length)
    this.reachableSince = isReachable && stopped === 0 ? (this.reachableSince ?? now) : undefined
    this.unreachableSince = isQuiet ? (this.unreachableSince ?? now) : undefined
    this.cutSince = this.isCut ? (this.cutSince ?? now) : undefined
    this.storeFineSince = this.disk.trouble ? undefined : (this.storeFineSince ?? now)
  }
}
