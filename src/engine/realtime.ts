import type { RealtimeSocket, RealtimeSocketListener } from '../network/realtime-socket.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import { type Hello, readPush } from '../protocol/push.ts'
import { ofBroken } from './anomalies.ts'
import type { Fetcher } from './fetcher.ts'
import type { LocalCopy } from './local-copy.ts'
import { PushBuffer } from './push-buffer.ts'
import type { Reporter } from './reporter.ts'

/** A server whose deltas still end below its hello after so many has no more for this client. */
const maxDeltas = 4

/** The close code that says that the credentials have ended. */
const unauthenticated = 4401

export interface RealtimeOptions {
  readonly copy: LocalCopy
  readonly fetcher: Fetcher
  readonly reporter: Pick<Reporter, 'anomalies'>
  readonly listener: RealtimeListener
  readonly createSocket: (listener: RealtimeSocketListener) => RealtimeSocket
}

/**
 * `live`: what the server pushes is shown at once. `behind`: there is a socket, and catching up comes first. `closed`: there
 * is none, or another user's, of which nothing is taken.
 */
export type RealtimeState = 'closed' | 'behind' | 'live'

/**
 * `hurry`: the network is there, so a wait can end. `hint`: no need to be quick. `confirm`: it is shown, and has to be
 * confirmed.
 */
export type Urgency = 'hurry' | 'want' | 'hint' | 'confirm'

export interface RealtimeListener {
  /** Something is missing, or may be. */
  missing(urgency: Urgency): void
  /** Something came, or the socket is gone. */
  heard(): void
}

/**
 * What the socket brings. Every opening begins with catching up: pushes are held back until a delta that was begun after
 * the opening has been applied and reaches as far as the server says it must.
 */
export class Realtime {
  readonly socket: RealtimeSocket
  readonly #options: RealtimeOptions
  readonly #held = new PushBuffer()
  /** Whether a fetch began since the last opening. */
  #began = false
  /** Deltas that were fetched since the last opening. */
  #deltas = 0
  #state: RealtimeState = 'closed'
  #hello: Hello | undefined

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

  /** Whether silence would be noticed without asking. */
  get hasHeartbeat(): boolean {
    return this.#state !== 'closed' && this.#hello?.heartbeatMs !== undefined
  }

  /** A fetch begins. */
  began(): void {
    this.#began = true
  }

  /** It has been applied. */
  fetched(kind: 'bootstrap' | 'delta'): void {
    if (this.#state === 'behind' && this.#hasCaughtUp(kind)) this.#state = 'live'
    if (this.#state === 'live') this.#release()
    else if (this.#state === 'behind') this.#options.listener.missing('want')
    // Another user's socket: the right credentials are back.
    else this.socket.renew()
  }

  /** A fetch has failed: what was held back for its sake goes on. */
  failed(): void {
    if (this.#state === 'live') this.#release()
  }

  /** The socket is not wanted any more. */
  stop(): void {
    this.socket.stop()
    this.#state = 'closed'
    this.#held.take()
  }

  #hasCaughtUp(kind: 'bootstrap' | 'delta'): boolean {
    const confirmed = this.#options.copy.position?.confirmed ?? 0
    // A snapshot is followed by a delta, except where there is no position to ask it from.
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
    this.#options.listener.missing('hurry')
  }

  #lost({ wasOpen, code }: { readonly wasOpen: boolean; readonly code: number }): void {
    this.#state = 'closed'
    this.#held.take()
    this.#options.listener.heard()
    // Why it did not open, a browser does not say: a refusal for example. An answer over HTTP does. One that was open
    // opens again after a wait, and then fetches: a server that restarts loses all its clients in one moment.
    if (!wasOpen || code === unauthenticated) this.#options.listener.missing('want')
  }

  #message(data: unknown): void {
    const { copy, fetcher, reporter, listener } = this.#options
    if (this.#state === 'closed') return
    const push = readPush(data)
    // A keep-alive says that the socket lives, and nothing about the data.
    if (push.kind !== 'garbage') listener.heard()
    const confirmed = copy.position?.confirmed ?? 0
    switch (push.kind) {
      case 'hello':
        if (copy.callerCheck.isOther(push.hello.caller)) {
          this.#state = 'closed'
          // The answer tells whether the present credentials are another user's, too.
          listener.missing('want')
          return
        }
        this.#hello = push.hello
        if (push.hello.heartbeatMs !== undefined) this.socket.expectHeartbeat(push.hello.heartbeatMs)
        if (this.#state === 'live' && push.hello.sid > confirmed) listener.missing('hint')
        return
      case 'position':
        if (push.sid > confirmed) listener.missing('hint')
        return
      case 'hint':
        listener.missing('hint')
        return
      case 'garbage':
        reporter.anomalies([{ kind: 'push', message: 'A message on the socket is not JSON; it is ignored.' }])
        return
      case 'delta':
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
    // A delta may lag behind what is pushed.
    else if (outcome.want === 'delta') listener.missing('hint')
    else if (outcome.want === 'confirm') listener.missing('confirm')
  }
}
