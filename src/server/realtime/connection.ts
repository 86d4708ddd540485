import { Disposer } from '../../base/disposer.ts'
import type { Unsubscribe } from '../../base/emitter.ts'
import type { Clock } from '../../base/environment.ts'
import { Timer } from '../../base/timer.ts'
import type { Caller } from '../auth/caller.ts'
import { features } from '../features.ts'
import { closeCodes, type ServerSocket } from './server-socket.ts'

/** Whether a socket's credentials still belong to the same user and owners. If they cannot be checked now, `same`. */
export type CredentialCheck = 'same' | 'other' | 'gone'

export interface ConnectionLimits {
  /** The longest time without a message, in ms. */
  readonly heartbeatMs: number
  /** How often the credentials are checked, in ms. */
  readonly recheckMs: number
  /** The maximum number of unsent bytes in a socket, before it is closed as too slow. */
  readonly maxBufferedBytes: number
}

/** One push: the frames up to `sid`, as JSON, for all callers who receive the same frames. */
export class Push {
  readonly sid: number
  readonly #frames: readonly string[]
  #since: number | undefined
  #text = ''

  constructor(sid: number, frames: readonly string[]) {
    this.sid = sid
    this.#frames = frames
  }

  /**
   * The message for a client that has all changes up to `since`. The text is made once for all such clients, since
   * there may be thousands.
   */
  textSince(since: number): string {
    if (since !== this.#since) {
      this.#text = `{"since":${since},"sid":${this.sid},"frames":[${this.#frames.join(',')}]}`
      this.#since = since
    }
    return this.#text
  }
}

/**
 * One open socket, which receives all changes in order and without a gap. It sends a message at least every
 * `heartbeatMs`. It is closed when the caller's credentials expire, or when a check finds that they have been revoked.
 */
export class Connection {
  readonly caller: Caller
  readonly #socket: ServerSocket
  readonly #limits: ConnectionLimits
  readonly #disposer = new Disposer()
  readonly #heartbeat: Timer
  /** The client has all its changes up to this sid. */
  #sentSid: number
  #disposed = false

  constructor(
    socket: ServerSocket,
    caller: Caller,
    sid: number,
    clock: Clock,
    limits: ConnectionLimits,
    onEnd: Unsubscribe,
  ) {
    this.#socket = socket
    this.caller = caller
    this.#limits = limits
    this.#sentSid = sid
    this.#disposer.add(onEnd)
    this.#heartbeat = new Timer(clock, () => this.push(new Push(this.#sentSid, [])))
    this.#disposer.add(() => this.#heartbeat.clear())
    if (caller.expiresAt !== undefined) {
      const end = () => this.close(closeCodes.unauthenticated, 'token_expired')
      this.#disposer.add(clock.after(caller.expiresAt - clock.now(), end))
    }
  }

  /**
   * Checks the credentials every `recheckMs`, by calling `ask`. `firstMs`: when to check first, in ms, at most
   * `recheckMs`.
   */
  watch(ask: () => Promise<CredentialCheck>, clock: Clock, firstMs = this.#limits.recheckMs): void {
    const check = async () => {
      // Set first, so that the next check happens even if this one never ends.
      alarm.set(this.#limits.recheckMs)
      const state = await ask()
      if (this.#disposed) return
      if (state === 'gone') this.close(closeCodes.unauthenticated, 'revoked')
      // The client connects again, and gets the data of the user or owners that its credentials now name.
      else if (state === 'other') this.close(closeCodes.restart, 'restart')
    }
    const alarm = new Timer(clock, () => void check())
    alarm.set(firstMs)
    this.#disposer.add(() => alarm.clear())
  }

  /** Sends the position after which changes will be pushed. */
  hello(epoch: string, caller: string): void {
    const { heartbeatMs } = this.#limits
    this.#send(() => JSON.stringify({ hello: { sid: this.#sentSid, epoch, caller, features, heartbeatMs } }))
  }

  /** Sends a push. All earlier changes of the caller's data must have been pushed before. */
  push(push: Push): void {
    this.#send(() => push.textSince(this.#sentSid))
    this.#sentSid = push.sid
  }

  close(code: number, reason: string): void {
    this.dispose()
    this.#socket.close(code, reason)
  }

  /** Closes the socket after `ms` if it is still open. */
  closeAfter(ms: number, clock: Clock, code: number, reason: string): void {
    this.#disposer.add(clock.after(ms, () => this.close(code, reason)))
  }

  /** Releases timers and listeners, after the socket has closed. */
  dispose(): void {
    this.#disposed = true
    this.#disposer.dispose()
  }

  #send(textOf: () => string): void {
    if (this.#socket.bufferedAmount > this.#limits.maxBufferedBytes) {
      // Limits the memory of one socket. The client fetches the rest by delta.
      this.close(closeCodes.tooSlow, 'too_slow')
      return
    }
    try {
      this.#socket.send(textOf())
    } catch {
      // Some runtimes throw if the socket has closed without an event so far. `textSince` throws if the text is longer
      // than a string can be: the client then fetches a delta.
      this.close(closeCodes.restart, 'restart')
      return
    }
    this.#heartbeat.set(this.#limits.heartbeatMs)
  }
}
