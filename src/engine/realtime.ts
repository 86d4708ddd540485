import type { Debug } from '../base/logger.ts'
import type { RealtimeSocket, RealtimeSocketListener } from '../network/realtime-socket.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import { type Hello, type Push, readPush } from '../protocol/push.ts'
import { ofBroken } from './anomalies.ts'
import type { Fetcher } from './fetcher.ts'
import type { LocalCopy } from './local-copy.ts'
import { PushBuffer } from './push-buffer.ts'
import type { Reporter } from './reporter.ts'

/** After this many deltas that end below the `sid` of the hello, the server has no more changes for this client. */
const maxDeltas = 4

/** The close code for credentials that are not valid any more. */
const unauthenticated = 4401

export interface RealtimeOptions {
  readonly copy: LocalCopy
  readonly fetcher: Pick<Fetcher, 'bootstrapping' | 'taken'>
  readonly reporter: Pick<Reporter, 'anomalies'>
  readonly debug: Debug
  readonly listener: RealtimeListener
  readonly createSocket: (listener: RealtimeSocketListener) => RealtimeSocket
}

/**
 * `live`: pushes are shown at once. `behind`: the socket is open, and pushes wait until a delta has caught up.
 * `closed`: there is no socket, or the socket belongs to another user and its messages are ignored.
 */
export type RealtimeState = 'closed' | 'behind' | 'live'

/**
 * How soon to fetch. `hurry`: at once, since the network is there. `want`: at once, except during a wait after a
 * failure. `hint`: within a second. `confirm`: within half a second, to confirm a push that is shown.
 */
export type Urgency = 'hurry' | 'want' | 'hint' | 'confirm'

export interface RealtimeListener {
  /** Changes are missing, or may be missing: fetch. */
  missing(urgency: Urgency): void
  /** A message came, or the socket was lost. */
  heard(): void
}

/**
 * Handles the messages of the socket. After every opening, pushes are held back until the client has caught up: until a
 * delta that was requested after the opening is applied, and reaches the `sid` of the server's hello.
 */
export class Realtime {
  readonly socket: RealtimeSocket
  readonly #options: RealtimeOptions
  readonly #held = new PushBuffer()
  /** Whether a fetch has begun since the last opening. */
  #began = false
  /** The number of deltas that were fetched since the last opening. */
  #deltas = 0
  #state: RealtimeState = 'closed'
  #hello: Hello | undefined
  /** The highest position that the server has named since the last opening. */
  #named = 0

  constructor(options: RealtimeOptions) {
    this.#options = options
    this.socket = options.createSocket({
      opened: () => this.#opened(),
      message: (data) => this.#message(data),
      lost: (event) => this.#lost(event),
    })
  }

  get state(): RealtimeState {
    return this.#state
  }

  /** Whether the socket has a heartbeat, so that a dead connection is detected without polling. */
  get hasHeartbeat(): boolean {
    return this.#state !== 'closed' && this.#hello?.heartbeatMs !== undefined
  }

  /** Whether the hello lists `was`. */
  get hasWas(): boolean {
    return this.#state !== 'closed' && this.#hello?.features?.includes('was') === true
  }

  /** Whether the server has named a position that the data does not reach. */
  get isBehind(): boolean {
    return this.#state !== 'closed' && this.#named > (this.#options.copy.position?.confirmed ?? 0)
  }

  /** Call when a fetch begins. */
  began(): void {
    this.#began = true
  }

  /** Call when the result of a fetch has been applied. */
  fetched(kind: 'bootstrap' | 'delta'): void {
    if (this.#state === 'behind' && this.#hasCaughtUp(kind)) this.#state = 'live'
    if (this.#state === 'live') this.#release()
    else if (this.#state === 'behind') this.#options.listener.missing('want')
    // The socket belongs to another user, and the fetch has just succeeded with the right credentials.
    else this.socket.renew()
  }

  /** Call when a fetch has failed. Applies the pushes that were held back during the fetch. */
  failed(): void {
    if (this.#state === 'live') this.#release()
  }

  /** Closes the socket, and drops the held pushes. */
  stop(): void {
    this.socket.stop()
    this.#state = 'closed'
    this.#held.take()
  }

  #hasCaughtUp(kind: 'bootstrap' | 'delta'): boolean {
    const confirmed = this.#options.copy.position?.confirmed ?? 0
    // A delta has to follow a snapshot, unless there is no position to ask for one.
    const isEnough = kind === 'delta' || confirmed <= 0
    if (!this.#began || !isEnough) return false
    this.#deltas += 1
    return confirmed >= (this.#hello?.sid ?? confirmed) || this.#deltas >= maxDeltas
  }

  #opened(): void {
    this.#began = false
    this.#deltas = 0
    this.#state = 'behind'
    this.#hello = undefined
    this.#named = 0
    this.#options.listener.missing('hurry')
  }

  #lost({ wasOpen, code }: { readonly wasOpen: boolean; readonly code: number }): void {
    this.#state = 'closed'
    this.#held.take()
    this.#options.listener.heard()
    // A browser does not say why a socket did not open, such as a 401; the response to a fetch does. A socket that was
    // open does not fetch now, but after it is open again: a restarting server loses all its clients at the same
    // moment.
    if (!wasOpen || code === unauthenticated) this.#options.listener.missing('want')
  }

  #message(data: unknown): void {
    if (this.#state !== 'closed') this.hear(readPush(data))
  }

  /** Handles one message. */
  hear(push: Push): void {
    const { copy, fetcher, reporter, debug, listener } = this.#options
    if (this.#state === 'closed') return
    debug(`push: ${push.kind}`)
    // Any readable message shows that the socket works, even without data.
    if (push.kind !== 'garbage') listener.heard()
    const confirmed = copy.position?.confirmed ?? 0
    const name = (sid: number) => {
      this.#named = Math.max(this.#named, sid)
    }
    switch (push.kind) {
      case 'hello':
        if (copy.callerCheck.isOther(push.hello.caller)) {
          this.#state = 'closed'
          // The response to a fetch shows whether the current credentials belong to another user, too.
          listener.missing('want')
          return
        }
        this.#hello = push.hello
        name(push.hello.sid)
        if (push.hello.heartbeatMs !== undefined) this.socket.expectHeartbeat(push.hello.heartbeatMs)
        if (this.#state === 'live' && push.hello.sid > confirmed) listener.missing('hint')
        return
      case 'position':
        name(push.sid)
        if (push.sid > confirmed) listener.missing('hint')
        return
      case 'hint':
        listener.missing('hint')
        return
      case 'garbage':
        reporter.anomalies([{ kind: 'push', message: 'Ignored a socket message that is not JSON.' }])
        return
      case 'delta':
        name(push.delta.sid)
        if (this.#state === 'live' && !fetcher.bootstrapping) this.#take(push.delta)
        else this.#held.add(push.delta)
    }
  }

  #release(): void {
    const { deltas, overflowed } = this.#held.take()
    for (const delta of deltas) this.#take(delta)
    if (overflowed) this.#options.listener.missing('want')
  }

  #take(delta: DeltaMessage): void {
    const { copy, fetcher, reporter, listener } = this.#options
    reporter.anomalies(ofBroken(delta))
    const outcome = copy.take(delta)
    if (!outcome) return
    if (fetcher.taken(outcome)) listener.missing('want')
    // A delta may not contain the latest pushes yet, so there is no hurry.
    else if (outcome.want === 'delta') listener.missing('hint')
    else if (outcome.want === 'confirm') listener.missing('confirm')
  }
}
