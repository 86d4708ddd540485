import type { BroadcastChannelConstructor, BroadcastChannelLike, Random } from '../base/environment.ts'
import type { SyncError } from '../base/errors.ts'
import { randomName } from '../base/ids.ts'
import type { OutboxNews } from '../persistence/outbox.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import { isObject } from '../protocol/json.ts'

/**
 * The version of the messages. From a tab of another version, this tab handles only `sign-out` and `left`. An `outbox`
 * message counts as lost, so that the tab reads the outbox again.
 */
const protocol = 2

/** An error as it is sent to other tabs. */
export type SharedError = Pick<SyncError, 'name' | 'code' | 'message'>

/** The leader's message about itself and the stored data. */
export interface Lead<Status> {
  /** The number of the leader, see `Connection.term`. A later leader has a higher number. */
  readonly term: number
  /** The position at the end of the stored data; 0 if it is not known. */
  readonly sid: number
  /** The name of the stored copy. */
  readonly copy?: string | undefined
  /** Whether the leader stores the data, so that others can read it. */
  readonly isStoring: boolean
  readonly status: Status
}

/** The messages among the tabs of one database: see docs/tabs.md. */
export type TabMessage<Status> =
  | { readonly type: 'ask' }
  | { readonly type: 'lead'; readonly lead: Lead<Status> }
  | { readonly type: 'delta'; readonly delta: DeltaMessage }
  | { readonly type: 'status'; readonly status: Status }
  | { readonly type: 'outbox'; readonly entries: OutboxNews }
  | { readonly type: 'sync'; readonly n: number }
  | { readonly type: 'synced'; readonly to: string; readonly n: number; readonly error?: SharedError }
  | { readonly type: 'resume'; readonly token?: string | undefined }
  | { readonly type: 'room' }
  | { readonly type: 'sign-out' }
  | { readonly type: 'left' }

export interface TabChannelOptions<Status> {
  /** `undefined` where tabs cannot hear each other. */
  readonly BroadcastChannel: BroadcastChannelConstructor | undefined
  readonly name: string
  readonly random: Random
  /** The version of the application's models. */
  readonly version: number
  /** `version`: the version of the models in the tab `from`. */
  readonly onMessage: (message: TabMessage<Status>, from: string, version: number) => void
  /** Another tab runs newer code, with models of `version`. */
  readonly onNewer: (version: number) => void
  /** Messages from the tab `from` were lost. */
  readonly onLoss: (from: string) => void
}

/**
 * The channel among the tabs of one database. While no other tab is known, only `ask`, `lead` and `sign-out` are sent.
 */
export class TabChannel<Status> {
  readonly #options: TabChannelOptions<Status>
  /** The name of this tab among the others. */
  #id = ''
  #channel: BroadcastChannelLike | undefined
  /** The name of the channel that was opened last. */
  #name = ''
  /** The number of messages that were posted since the channel was opened. */
  #posted = 0
  /** The number of the last message from each other tab since the channel was opened. */
  readonly #heard = new Map<string, number>()

  constructor(options: TabChannelOptions<Status>) {
    this.#options = options
  }

  /** The name of this tab among the others. */
  get id(): string {
    return this.#id
  }

  get isOpen(): boolean {
    return this.#channel !== undefined
  }

  /** The number of other tabs that have sent a message since the channel was opened, and have not left. */
  get peers(): number {
    return this.#heard.size
  }

  /** Opens the channel of the tabs that use the database in its life `life`: see `Connection`. */
  open(life = ''): void {
    const { BroadcastChannel, random } = this.#options
    const name = this.#options.name + life
    if (!BroadcastChannel || (this.#channel && name === this.#name)) return
    this.close()
    this.#name = name
    this.#id = randomName(random)
    this.#posted = 0
    this.#heard.clear()
    try {
      this.#channel = new BroadcastChannel(name)
    } catch {
      // The browser has channels, but refuses them to this page: as without channels.
      return
    }
    this.#channel.onmessage = ({ data }) => this.#hear(data)
    this.#channel.unref?.()
  }

  close(): void {
    this.#channel?.close()
    this.#channel = undefined
  }

  post(message: TabMessage<Status>): void {
    const isForAll = message.type === 'ask' || message.type === 'lead' || message.type === 'sign-out'
    if (!isForAll && this.peers === 0) return
    this.#posted += 1
    const { version } = this.#options
    this.#channel?.postMessage({ ...message, protocol, version, from: this.#id, number: this.#posted })
  }

  #hear(data: unknown): void {
    if (!isTabMessage<Status>(data)) return
    const { onLoss, onMessage, onNewer, version: ownVersion } = this.#options
    const { from, number, type, version } = data
    const last = this.#heard.get(from)
    // The message came twice, or after a later one.
    if (last !== undefined && number <= last) return
    this.#heard.set(from, number)
    const age = data.protocol - protocol || version - ownVersion
    if (age > 0) onNewer(version)
    // Any message tells a tab with older code that this code is newer. Answer older code only: otherwise, two tabs
    // would answer each other for ever.
    if (age < 0 && (type === 'ask' || type === 'lead')) this.post({ type: 'ask' })
    if (type === 'left') this.#heard.delete(from)
    else if (last !== undefined && number > last + 1) onLoss(from)
    if (data.protocol === protocol || type === 'sign-out' || type === 'left') onMessage(data, from, version)
    else if (type === 'outbox') onLoss(from)
  }
}

interface Envelope {
  readonly protocol: number
  readonly version: number
  readonly from: string
  readonly number: number
}

/**
 * Checks only the envelope, which every version has. The rest of a message of the same version comes from the same
 * code.
 */
function isTabMessage<Status>(data: unknown): data is TabMessage<Status> & Envelope {
  return isObject(data) && typeof data.protocol === 'number' && typeof data.from === 'string'
}
