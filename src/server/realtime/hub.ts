import type { Unsubscribe } from '../../base/emitter.ts'
import type { Clock, Random } from '../../base/environment.ts'
import { toError } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'
import { Timer } from '../../base/timer.ts'
import type { Caller } from '../auth/caller.ts'
import type { Identity } from '../http/identify.ts'
import type { Changes, Log, WriteResult } from '../log/log.ts'
import { Audiences } from './audiences.ts'
import { Connection, type ConnectionLimits, type CredentialCheck } from './connection.ts'
import { closeCodes, type ServerSocket } from './server-socket.ts'

const changesPerRead = 500

/**
 * A socket opens within this time after its request, in ms. Revocations are kept that long for sockets that are not
 * open yet.
 */
const admissionMs = 120_000

/**
 * The maximum number of revoked sockets that are closed at once. The client fetches a snapshot if its owners have
 * changed, so further sockets are closed at random times within `spreadMs`. They receive no change meanwhile.
 */
const maxClosedAtOnce = 100
const spreadMs = 60_000

/** The request that a socket came from. */
export interface SocketRequest {
  /** The time of the request, in ms since the epoch. */
  readonly at: number
  /** Checks the credentials of the request again. Does not reject. */
  readonly again: () => Promise<CredentialCheck>
}

type CloseReason = readonly [code: number, reason: string]

export interface HubOptions {
  readonly log: Log
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly limits: ConnectionLimits
  /** The maximum number of open sockets of one user. */
  readonly maxSockets: number
  readonly epochOf: (history: string, owners: readonly string[]) => string
  readonly callerOf: (caller: Caller) => string
}

/**
 * Pushes new changes to the sockets of their owners. The hub reads the log from its cursor. A hint makes it read at
 * once; it also reads at every heartbeat, so that a lost hint only costs time.
 */
export class Hub {
  readonly #options: HubOptions
  readonly #audiences = new Audiences()
  /** The open connections, each with the function that takes it out of its audience. */
  readonly #open = new Map<Connection, Unsubscribe>()
  /** The number of open connections of each user. */
  readonly #counts = new Map<string, number>()
  #followed: Promise<void> | undefined
  #stop = () => {}
  #cursor = 0
  #history = ''
  /** True until the position of the log is known, so that nothing is read before. */
  #reading = true
  #readAgain = false
  #closed = false
  #revocations: { readonly at: number; readonly match: (caller: Caller) => boolean }[] = []

  constructor(options: HubOptions) {
    this.#options = options
  }

  /**
   * Takes an open socket, sends `hello`, and then pushes each change above the hello's `sid` that is for one of the
   * identity's owners. Closes the socket if the caller was revoked after the request.
   */
  async add(socket: ServerSocket, identity: Identity, asked: SocketRequest): Promise<void> {
    let isClosed = false
    socket.addEventListener('close', () => {
      isClosed = true
    })
    try {
      this.#followed ??= this.#follow()
      await this.#followed
    } catch (error) {
      this.#followed = undefined
      this.#options.logger.error('New changes cannot be read from the database.', {
        reason: toError(error).message,
      })
      socket.close(closeCodes.restart, 'unavailable')
      return
    }
    const isRevoked = () =>
      this.#revocations.some(({ at, match }) => {
        const reason = at >= asked.at && this.#reasonToClose(identity.caller, match)
        if (reason) socket.close(...reason)
        return Boolean(reason)
      })
    if (this.#closed) socket.close(closeCodes.restart, 'restart')
    else if (!isRevoked() && !isClosed) this.#join(socket, identity, asked.again)
  }

  /** The number of open sockets. */
  get size(): number {
    return this.#open.size
  }

  /** The number of open sockets of a user. */
  sizeOf(userId: string): number {
    return this.#counts.get(userId) ?? 0
  }

  /**
   * Closes the sockets of all callers for which `match` returns true, as if their credentials had expired. If `match`
   * throws, the error is logged, and the socket is closed so that the client connects and authenticates again. No
   * change is pushed to any of these sockets any more.
   */
  revoke(match: (caller: Caller) => boolean): void {
    const at = this.#options.clock.now()
    this.#revocations = this.#revocations.filter((earlier) => earlier.at > at - admissionMs)
    this.#revocations.push({ at, match })
    const { clock, random } = this.#options
    let closed = 0
    for (const [connection, leave] of [...this.#open]) {
      const reason = this.#reasonToClose(connection.caller, match)
      if (!reason) continue
      closed += 1
      if (closed <= maxClosedAtOnce) connection.close(...reason)
      else {
        leave()
        connection.closeAfter(random.number() * spreadMs, clock, ...reason)
      }
    }
  }

  /** Why to close the sockets of `caller`: `match` returns true, or throws. */
  #reasonToClose(caller: Caller, match: (caller: Caller) => boolean): CloseReason | undefined {
    try {
      return match(caller) ? [closeCodes.unauthenticated, 'revoked'] : undefined
    } catch (error) {
      this.#options.logger.error('The `match` of a revocation failed.', {
        reason: toError(error).message,
      })
      return [closeCodes.restart, 'restart']
    }
  }

  close(): void {
    this.#closed = true
    this.#stop()
    this.#restart()
  }

  /**
   * Must not await between reading the cursor for `hello` and adding the connection: a push in between would be lost.
   */
  #join(socket: ServerSocket, { caller, owners }: Identity, again: SocketRequest['again']): void {
    const { clock, random, limits, maxSockets, epochOf, callerOf } = this.#options
    const { userId } = caller
    // Sockets that are requested at once are not counted when they are admitted.
    if (this.sizeOf(userId) >= maxSockets) {
      socket.close(closeCodes.tooSlow, 'too_many_requests')
      return
    }
    const connection = new Connection(socket, caller, this.#cursor, clock, limits, () => {
      leave()
      this.#open.delete(connection)
      this.#count(userId, -1)
    })
    const leave = this.#audiences.add(connection, owners)
    this.#open.set(connection, leave)
    this.#count(userId, 1)
    socket.addEventListener('close', () => connection.dispose())
    // Check at a random time, so that a change that affects many credentials is not found by all sockets at once.
    connection.watch(again, clock, random.number() * limits.recheckMs)
    connection.hello(epochOf(this.#history, owners), callerOf(caller))
  }

  #count(userId: string, change: number): void {
    const count = this.sizeOf(userId) + change
    if (count > 0) this.#counts.set(userId, count)
    else this.#counts.delete(userId)
  }

  /** Listens before reading the position, so that no hint is missed in between. */
  async #follow(): Promise<void> {
    const { log, clock, limits } = this.#options
    const stopListening = log.onHint((written) => this.#onWritten(written))
    const timer = new Timer(clock, () => {
      this.#read()
      timer.set(limits.heartbeatMs)
    })
    this.#stop = () => {
      stopListening()
      timer.clear()
    }
    try {
      const { head, history } = await log.position()
      this.#cursor = head
      this.#history = history
    } catch (error) {
      stopListening()
      throw error
    }
    if (this.#closed) return
    this.#reading = false
    timer.set(limits.heartbeatMs)
    // Changes written after the position was read may have caused a hint already.
    if (this.#readAgain) void this.#read()
  }

  #onWritten(written: WriteResult | undefined): void {
    // The changes follow directly after the cursor, so nothing needs to be read.
    if (written && written.after === this.#cursor && !this.#reading) {
      this.#deliver({ ...written, sid: written.head })
    } else void this.#read()
  }

  /** Reads all changes after the cursor. A call during a read makes it read once more afterwards. */
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
      this.#options.logger.warn('The database could not be read; trying again.', {
        reason: toError(error).message,
      })
    } finally {
      this.#reading = false
    }
  }

  #deliver({ history, horizon, head, sid, changes }: Changes): void {
    // A head that went back also means another history, even under the same name.
    if (history !== this.#history || this.#cursor < horizon || head < this.#cursor) {
      this.#history = history
      this.#cursor = head
      this.#restart()
      return
    }
    this.#cursor = sid
    this.#audiences.deliver(sid, changes)
  }

  /** Makes every client connect again and fetch the changes in between. */
  #restart(): void {
    for (const connection of [...this.#open.keys()]) connection.close(closeCodes.restart, 'restart')
  }
}
