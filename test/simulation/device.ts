import type { StoreValue } from 'instep'
import type { BreakableSocket, MockDevice, MockSyncServer, VirtualClock } from 'instep/testing'
import { VirtualChannels } from '../../src/testing/virtual-channels.ts'
import { VirtualLocks } from '../../src/testing/virtual-locks.ts'
import { JumpingClock } from '../support/jumping-clock.ts'
import type { Answer } from './answers.ts'
import { Translator } from './dialect.ts'
import type { Result } from './oracle.ts'
import { Dice, type Plan } from './plan.ts'
import { Disk } from './stores.ts'
import type { Tab } from './tab.ts'

/** Some of a row. */
const pieceBytes = 90

/** After so long, in ms, a device knows that it is offline: where it is told, and where it has to find out. */
const knownMs = { cut: 2_000, down: 60_000 }

export interface DeviceOptions {
  readonly name: string
  readonly server: MockSyncServer<VirtualClock>
  readonly plan: Plan
  readonly tokenOf: (identity: string) => string
  /** Issues a new token for the user of the device. */
  readonly onSignIn: () => void
  /** Hears of the ids of each request's transactions, and whether they came with another user's credentials. */
  readonly onReceived: (ids: readonly string[], isOther: boolean) => void
  readonly onAnswered: (results: readonly Result[]) => void
  readonly sidOf: (record: { readonly t: string; readonly id: string }) => number
  /** Hears of the transactions that its disk holds. Whether it had none of one of them before. */
  readonly onStored: (txs: readonly string[]) => boolean
  /** Its disk has refused what a tab asked, or has not answered in time. */
  readonly onRefused: (tab: Tab) => void
}

interface PlannedAnswer {
  readonly endpoint: string | undefined
  readonly answer: Answer
}

/** A device of Ada's: its network, its disk and its tabs. */
export class Device {
  readonly name: string
  readonly identity = 'ada'
  readonly mock: MockDevice<VirtualClock>
  readonly clock: VirtualClock
  /** The clock of the device, which its user may set. */
  readonly machineClock: JumpingClock
  readonly disk = new Disk()
  /** The locks that its tabs share. */
  readonly locks = new VirtualLocks()
  /** The channels among its tabs. */
  readonly channels: VirtualChannels
  readonly plan: Plan
  readonly tabs = new Map<number, Tab>()
  /** Whose credentials the session that all tabs share holds. */
  signedIn = 'ada'
  isCut = false
  /** Its token has expired, and nothing but its user can get another. */
  waitsForUser = false
  /** What becomes of the next requests. */
  answers: PlannedAnswer[] = []
  /** Whether something was wrong with the line that the device has to find out by itself. */
  hadTrouble = false
  /** Whether the server, or something in its place, has sent what makes no sense. */
  hasNoise = false
  /** Whether a step of a tab's store was to fail. */
  hasStoreFault = false
  /** Whether a tab may find no room, and drop the data for its writes. */
  mayLackRoom = false
  /** Since when every tab reaches the server, since when none does, and since when the store takes writes. */
  reachableSince: number | undefined
  unreachableSince: number | undefined
  storeFineSince: number | undefined
  /** Since when the device itself is cut off, of which it is told at once. */
  cutSince: number | undefined
  /** Where `sync` has said that the data is stored. */
  synced: { readonly at: number; readonly history: number | undefined; readonly sid: number } | undefined
  /** When its user last deleted what the browser had stored. */
  clearedAt: number | undefined
  /** Whether a database of it was deleted as `deleteDatabase` does, which frozen tabs take for a sign-out. */
  hasDeleted = false
  /** Whether its user is just signing out. */
  isSigningOut = false
  /** How often its user has signed out, and when last. */
  life = 0
  signedOutAt: number | undefined
  readonly #options: DeviceOptions
  readonly #sockets = new Set<BreakableSocket>()
  #failedRenewals = 0

  constructor(options: DeviceOptions) {
    const { name, server, plan, sidOf } = options
    this.#options = options
    this.name = name
    this.plan = plan
    this.clock = server.clock
    this.machineClock = new JumpingClock(this.clock)
    this.mock = server.device()
    this.disk.beforeRefusal = plan.refusedWrite
    this.disk.onRefused = () => {
      this.storeFineSince = undefined
    }
    this.mock.network.chunkMs = plan.pieceMs
    const dice = new Dice(plan.seed)
    const carry = (deliver: () => void) => {
      const fault = dice.roll(10)
      if (fault === 0) return
      for (let times = fault === 1 ? 2 : 1; times > 0; times -= 1) {
        this.clock.after(dice.roll(4) === 0 ? dice.roll(3_000) : 0, deliver)
      }
    }
    this.channels = new VirtualChannels(plan.channel === 'faulty' ? { carry } : {})
    const translator = plan.dialect && new Translator(plan.dialect, server, sidOf)
    this.mock.network.use({
      fetch: (request) => this.#answer(request, translator),
      upgrade: async (request) => {
        const planned = this.#take('ws')
        if (planned) return planned(async () => new Response(null, { status: 503 }), this.#line)
        const accept = await server.upgrade(request)
        if (typeof accept !== 'function') return accept
        return (socket) => {
          this.#sockets.add(socket)
          socket.addEventListener('close', () => this.#sockets.delete(socket))
          accept(translator ? translated(socket, translator) : socket)
        }
      },
    })
    this.note(true)
  }

  get token(): string {
    return this.#options.tokenOf(this.signedIn)
  }

  get #line() {
    return { clock: this.clock, killSockets: () => this.mock.network.killSockets() }
  }

  /** Gets a new token after a 401, as the application of this run does. */
  async renewToken(): Promise<string | undefined> {
    const { renewal } = this.plan
    if (this.signedIn !== this.identity || renewal === 'by the user') return undefined
    if (renewal === 'fails once') {
      this.#failedRenewals += 1
      if (this.#failedRenewals % 2 === 1) throw new Error('The sign-in failed.')
    }
    if (renewal === 'slow') await new Promise<void>((resolve) => void this.clock.after(5_000, resolve))
    this.#options.onSignIn()
    return this.token
  }

  async #answer(request: Request, translator: Translator | undefined): Promise<Response> {
    const { server, tokenOf, onReceived, onAnswered } = this.#options
    const endpoint = new URL(request.url).pathname.split('/').at(-1) ?? ''
    const planned = this.#take(endpoint)
    const isTx = endpoint === 'tx'
    if (isTx) {
      const body: { readonly txs: readonly { readonly id: string }[] } = await request.clone().json()
      onReceived(
        body.txs.map(({ id }) => id),
        this.signedIn !== this.identity &&
          request.headers.get('authorization') !== `Bearer ${tokenOf(this.identity)}`,
      )
    }
    const pass = async () => {
      const response = await server.fetch(request.clone())
      if (isTx && response.ok) onAnswered((await response.clone().json()).results)
      const said = translator ? await translator.response(request, response) : response
      return this.plan.pieceMs > 0 ? inPieces(said) : said
    }
    return planned ? planned(pass, this.#line) : pass()
  }

  #take(endpoint: string): Answer | undefined {
    const found = this.answers.find((planned) => (planned.endpoint ?? endpoint) === endpoint)
    this.answers = this.answers.filter((planned) => planned !== found)
    return found?.answer
  }

  /** Its disk has taken `values` into the outbox. Whether one of them is a write that it did not have before. */
  stored(values: readonly StoreValue[]): boolean {
    const texts = values.filter((value) => typeof value === 'string' && value.startsWith('{'))
    const entries = texts.map((text): { readonly id: string } => JSON.parse(String(text)))
    return this.#options.onStored(entries.map(({ id }) => id))
  }

  refused(tab: Tab): void {
    this.#options.onRefused(tab)
  }

  /** A tab may find no room: the data that it has stored goes for its writes. */
  lackRoom(): void {
    this.mayLackRoom = true
    this.synced = undefined
  }

  /** The server closes the sockets of the device. */
  closeSockets(code: number): void {
    for (const socket of this.#sockets) socket.close(code)
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
    const { network, environment } = this.mock
    const isBlackHole = network.state === 'black hole'
    const isReachable = isServerUp && !this.isCut && this.signedIn === this.identity
    const isFine = isReachable && !isBlackHole && this.answers.length === 0 && environment.lifecycle.online()
    const stopped = this.openTabs.filter(({ isStopped }) => isStopped).length
    const isQuiet = (!isReachable && !isBlackHole) || (stopped > 0 && stopped === this.openTabs.length)
    this.reachableSince =
      isFine && stopped === 0 && !this.waitsForUser ? (this.reachableSince ?? now) : undefined
    this.unreachableSince = isQuiet ? (this.unreachableSince ?? now) : undefined
    this.cutSince = this.isCut ? (this.cutSince ?? now) : undefined
    const { trouble, isSilent } = this.disk
    const hasTrouble = trouble !== undefined || isSilent || this.hasStoreFault
    this.storeFineSince = hasTrouble ? undefined : (this.storeFineSince ?? now)
  }
}

function translated(socket: BreakableSocket, translator: Translator): BreakableSocket {
  return {
    get bufferedAmount() {
      return socket.bufferedAmount
    },
    send: (text) => {
      for (const message of translator.pushes(text)) socket.send(message)
    },
    close: (code, reason) => socket.close(code, reason),
    terminate: () => socket.terminate(),
    addEventListener: (type, listener) => socket.addEventListener(type, listener),
  }
}

/** The body in pieces, each of which can take its time. */
async function inPieces(response: Response): Promise<Response> {
  if (response.body === null) return response
  const bytes = new Uint8Array(await response.arrayBuffer())
  let at = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.subarray(at, at + pieceBytes))
      at += pieceBytes
    },
  })
  return new Response(body, { status: response.status, headers: response.headers })
}
