import { Disposer } from '../../base/disposer.ts'
import type { Unsubscribe } from '../../base/emitter.ts'
import type { Clock } from '../../base/environment.ts'
import { Timer } from '../../base/timer.ts'
import type { Caller } from '../auth/caller.ts'
import { closeCodes, type ServerSocket } from './server-socket.ts'

/** Whether a socket's credentials still name whom they named; what cannot be told now counts as before. */
export type Standing = 'same' | 'other' | 'gone'

export interface ConnectionLimits {
  /** The longest silence, in ms. */
  readonly heartbeatMs: number
  /** How often the credentials are asked about again, in ms. */
  readonly recheckMs: number
  /** What may wait in a socket, in bytes, before it counts as too slow. */
  readonly maxBufferedBytes: number
}

/** What has changed up to `sid` of what an owner has, as texts of JSON. */
export class Push {
  readonly sid: number
  readonly #frames: readonly string[]
  #since: number | undefined
  #text = ''

  constructor(sid: number, frames: readonly string[]) {
    this.sid = sid
    this.#frames = frames
  }

  /** It as it is told to who knows all up to `since`. One text for all of these, since there may be thousands. */
  textSince(since: number): string {
    if (since !== this.#since) {
      this.#text = `{"since":${since},"sid":${this.sid},"frames":[${this.#frames.join(',')}]}`
      this.#since = since
    }
    return this.#text
  }
}

/**
 * One open socket: what it was told, in order and without a hole. It says something at least every `heartbeatMs`,
 * and ends with the caller's credentials, which another process may have taken back.
 */
export class Connection {
  readonly caller: Caller
  readonly #socket: ServerSocket
  readonly #limits: ConnectionLimits
  readonly #disposer = new Disposer()
  readonly #heartbeat: Timer
  /** Up to here the client knows what is its own. */
  #told: number
  #gone = false

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
    this.#told = sid
    this.#disposer.add(onEnd)
    this.#heartbeat = new Timer(clock, () => this.push(new Push(this.#told, [])))
    this.#disposer.add(() => this.#heartbeat.clear())
    if (caller.expiresAt !== undefined) {
      const end = () => this.close(closeCodes.unauthenticated, 'token_expired')
      this.#disposer.add(clock.after(caller.expiresAt - clock.now(), end))
    }
  }

  /** Asks once in a while whether the caller still may be here. */
  watch(ask: () => Promise<Standing>, clock: Clock): void {
    const check = async () => {
      // Whether an answer comes or not.
      alarm.set(this.#limits.recheckMs)
      const standing = await ask()
      if (this.#gone) return
      if (standing === 'gone') this.close(closeCodes.unauthenticated, 'revoked')
      // It comes again, and is let in as who it is now.
      else if (standing === 'other') this.close(closeCodes.restart, 'restart')
    }
    const alarm = new Timer(clock, () => void check())
    alarm.set(this.#limits.recheckMs)
    this.#disposer.add(() => alarm.clear())
  }

  /** Says from where on it will push. */
  hello(epoch: string, caller: string): void {
    const { heartbeatMs } = this.#limits
    this.#send(() => JSON.stringify({ hello: { sid: this.#told, epoch, caller, heartbeatMs } }))
  }

  /** Tells that `push` is all that is the caller's. */
  push(push: Push): void {
    this.#send(() => push.textSince(this.#told))
    this.#told = push.sid
  }

  close(code: number, reason: string): void {
    this.dispose()
    this.#socket.close(code, reason)
  }

  /** Lets go of a socket that is gone. */
  dispose(): void {
    this.#gone = true
    this.#disposer.dispose()
  }

  #send(textOf: () => string): void {
    if (this.#socket.bufferedAmount > this.#limits.maxBufferedBytes) {
      // What waits is all that it may ever hold: the rest comes by delta.
      this.close(closeCodes.tooSlow, 'too_slow')
      return
    }
    try {
      this.#socket.send(textOf())
    } catch {
      // Some runtimes throw where the socket is no longer open and has not said so yet. What is longer than any text can
      // be comes by delta.
      this.close(closeCodes.restart, 'restart')
      return
    }
    this.#heartbeat.set(this.#limits.heartbeatMs)
  }
}
