import type { Clock } from '../../base/environment.ts'
import { toError } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'
import { Timer } from '../../base/timer.ts'
import type { Caller } from '../auth/caller.ts'
import type { Changes, Log, WriteResult } from '../log/log.ts'
import { Connection, type ConnectionLimits, Push, type Standing } from './connection.ts'
import { closeCodes, type ServerSocket } from './server-socket.ts'

const changesPerRead = 500

/** A socket is let in within this time of its request, in ms; so long a revocation is kept for those on their way. */
const admissionMs = 120_000

/** The request that asked for a socket. */
export interface Asked {
  /** In ms since the epoch. */
  readonly at: number
  /** Asks whom its credentials name now. Does not reject. */
  readonly again: () => Promise<Standing>
}

export interface HubOptions {
  readonly log: Log
  readonly clock: Clock
  readonly logger: Logger
  readonly limits: ConnectionLimits
  readonly epochOf: (history: string, owner: string) => string
  readonly callerOf: (caller: Caller) => string
}

/**
 * Brings what is written to the sockets of its owners. It follows the log from a cursor of its own: a hint makes it
 * read at once, and without one it reads every heartbeat, so a hint that is lost costs time and nothing else.
 */
export class Hub {
  readonly #options: HubOptions
  readonly #byOwner = new Map<string, Set<Connection>>()
  #followed: Promise<void> | undefined
  #stop = () => {}
  #cursor = 0
  #history = ''
  /** Nothing is read before the log's position is known. */
  #reading = true
  #readAgain = false
  #closed = false
  #revocations: { readonly at: number; readonly match: (caller: Caller) => boolean }[] = []

  constructor(options: HubOptions) {
    this.#options = options
  }

  /**
   * Takes an open socket, and says hello on it: every change of `owner` above the hello's `sid` will be pushed. Who was
   * revoked since it was asked for is not let in.
   */
  async add(socket: ServerSocket, caller: Caller, owner: string, asked: Asked): Promise<void> {
    let gone = false
    socket.addEventListener('close', () => {
      gone = true
    })
    try {
      this.#followed ??= this.#follow()
      await this.#followed
    } catch (error) {
      this.#followed = undefined
      this.#options.logger.error('The log cannot be followed.', { reason: toError(error).message })
      socket.close(closeCodes.restart, 'unavailable')
      return
    }
    const isRevoked = () =>
      this.#revocations.some(({ at, match }) => at >= asked.at && this.#revoked(socket, caller, match))
    if (this.#closed) socket.close(closeCodes.restart, 'restart')
    else if (!isRevoked() && !gone) this.#join(socket, caller, owner, asked.again)
  }

  /** How many sockets there are. */
  get size(): number {
    return this.#all().length
  }

  /**
   * Closes the sockets of the callers that `match` names, as if their credentials had ended. Where it throws, that is
   * logged, and the socket comes again, to be authenticated anew.
   */
  revoke(match: (caller: Caller) => boolean): void {
    const at = this.#options.clock.now()
    this.#revocations = this.#revocations.filter((earlier) => earlier.at > at - admissionMs)
    this.#revocations.push({ at, match })
    for (const connection of this.#all()) this.#revoked(connection, connection.caller, match)
  }

  /** Closes `socket` where `match` names its caller. Where it cannot tell, whoever it is has to come again. */
  #revoked(socket: Pick<ServerSocket, 'close'>, caller: Caller, match: (caller: Caller) => boolean): boolean {
    try {
      if (!match(caller)) return false
      socket.close(closeCodes.unauthenticated, 'revoked')
    } catch (error) {
      this.#options.logger.error('A revocation cannot tell whom it is for.', {
        reason: toError(error).message,
      })
      socket.close(closeCodes.restart, 'restart')
    }
    return true
  }

  close(): void {
    this.#closed = true
    this.#stop()
    this.#restart()
  }

  /** Nothing is awaited between the cursor's use as the hello's `sid` and the entry into the map. */
  #join(socket: ServerSocket, caller: Caller, owner: string, again: Asked['again']): void {
    const { clock, limits, epochOf, callerOf } = this.#options
    const connection = new Connection(socket, caller, this.#cursor, clock, limits, () => {
      const rest = this.#byOwner.get(owner)
      rest?.delete(connection)
      if (rest?.size === 0) this.#byOwner.delete(owner)
    })
    const connections = this.#byOwner.get(owner) ?? new Set()
    this.#byOwner.set(owner, connections.add(connection))
    socket.addEventListener('close', () => connection.dispose())
    connection.watch(again, clock)
    connection.hello(epochOf(this.#history, owner), callerOf(caller))
  }

  /** Listens before it asks where the log is, so that no hint falls between. */
  async #follow(): Promise<void> {
    const { log, clock, limits } = this.#options
    const unlisten = log.onHint((written) => this.#hear(written))
    const alarm = new Timer(clock, () => {
      this.#read()
      alarm.set(limits.heartbeatMs)
    })
    this.#stop = () => {
      unlisten()
      alarm.clear()
    }
    try {
      const { head, history } = await log.position()
      this.#cursor = head
      this.#history = history
    } catch (error) {
      unlisten()
      throw error
    }
    if (this.#closed) return
    this.#reading = false
    alarm.set(limits.heartbeatMs)
    // What was written while the position was on its way is above it.
    if (this.#readAgain) void this.#read()
  }

  #hear(written: WriteResult | undefined): void {
    // What follows on the cursor is all there is to read.
    if (written && written.after === this.#cursor && !this.#reading) {
      this.#deliver({ ...written, sid: written.head })
    } else void this.#read()
  }

  /** Reads on from the cursor, once at a time; a call during a read has it read again. */
  async #read(): Promise<void> {
    this.#readAgain = true
    if (this.#reading) return
    this.#reading = true
    try {
      while (this.#readAgain && !this.#closed) {
        this.#readAgain = false
        const batch = await this.#options.log.changes(this.#cursor, changesPerRead)
        if (batch.sid < batch.head) this.#readAgain = true
        this.#deliver(batch)
      }
    } catch (error) {
      this.#options.logger.warn('The log could not be read; trying again.', {
        reason: toError(error).message,
      })
    } finally {
      this.#reading = false
    }
  }

  #deliver({ history, horizon, head, sid, changes }: Changes): void {
    // A head that went back is another history too, though it does not say so.
    if (history !== this.#history || this.#cursor < horizon || head < this.#cursor) {
      this.#history = history
      this.#cursor = head
      this.#restart()
      return
    }
    const framesByOwner = new Map<string, string[]>()
    for (const { owner, frame } of changes) {
      const frames = framesByOwner.get(owner)
      if (frames) frames.push(frame)
      else framesByOwner.set(owner, [frame])
    }
    this.#cursor = sid
    for (const [owner, frames] of framesByOwner) {
      const push = new Push(sid, frames)
      for (const connection of this.#byOwner.get(owner) ?? []) connection.push(push)
    }
  }

  /** Has every client connect again, and fetch what came meanwhile. */
  #restart(): void {
    for (const connection of this.#all()) connection.close(closeCodes.restart, 'restart')
  }

  #all(): Connection[] {
    return [...this.#byOwner.values()].flatMap((connections) => [...connections])
  }
}
