import { Deferred } from '../base/deferred.ts'
import type { Clock, Lifecycle } from '../base/environment.ts'
import { isSyncError, StorageError, toStorageError } from '../base/errors.ts'
import { isWithin } from '../base/is-within.ts'
import { Timer } from '../base/timer.ts'
import { closedConnection } from '../storage/indexeddb-failures.ts'
import type { Store, StoreConnection, StoreTransaction, Table, TransactionOptions } from '../storage/store.ts'
import { isOtherFormat, metaKeys } from './format.ts'
import {
  type Caller,
  drop,
  ensureLife,
  lifeKey,
  type NewLife,
  raiseIn,
  readCaller,
  readLife,
  signedOut,
} from './meta.ts'

/** The delay before a database that does not open is opened again, in ms: after the first try, and later. */
const againMs = 10_000
const laterMs = 600_000

/** How often a database may be opened within `againMs`: a browser may close it over and over. */
const maxOpenings = 3

/** The tables of the data: all but the outbox. */
const data = { tables: ['meta', 'pages', 'journal'], mode: 'write' } as const

export interface DatabaseOptions {
  /** The promises of the store must settle in bounded time: see `withTimeLimits`. `undefined`: all is in memory only. */
  readonly store: Store | undefined
  /** The name of the database, made of the server and the identity that owns the data. */
  readonly name: string
  /** `undefined`: the process is never frozen. */
  readonly lifecycle?: Lifecycle | undefined
  readonly newLife: NewLife
  /** Names the owner of this client's data. */
  readonly caller: Caller
  /** Resolves with whether the user may have signed out, if the database is gone. */
  readonly wasDeleted: () => Promise<boolean>
}

export interface ConnectionOptions extends DatabaseOptions {
  readonly clock: Clock
  readonly listener: ConnectionListener
}

/**
 * What a client finds when it attaches: a database that it has not opened before; the same one with all that it had; or
 * an empty one, since the browser has evicted what was stored.
 */
export type Found = 'first' | 'same' | 'wiped'

export interface ConnectionListener {
  /** The database has nothing of what this client has in memory: it is the first one, or the browser has emptied it. */
  moved(): void
  /** This client has attached. Resolves once memory and disk are compared; never rejects. */
  attached(found: Found): Promise<void>
  /** `failure` or `refused` has changed. */
  changed(): void
}

/**
 * The database of one identity. Every transaction goes through `run`.
 *
 * To attach is to compare the database with what this client knows of it: when it is opened, for the first time or
 * again, after a freeze, and when this client takes the lead. Then follows what `docs/architecture.md` lists.
 *
 * One client, the leader, stores the data. A client that attaches as the leader raises a stored number, the fence. From
 * then on, each write of data by another client rejects with a StorageError of code `fenced` and changes nothing.
 *
 * A sign-out ends the life of the database, and begins the next one. Each life has a random name.
 *
 * In a frozen page, an open transaction would block other tabs, and an open connection would block the deletion of the
 * database. So both end when the page freezes. What was running then, or begins meanwhile, runs when the page is back.
 */
export class Connection {
  readonly #options: ConnectionOptions
  readonly #again: Timer
  readonly #unsubscribe: () => void
  #connection: StoreConnection | undefined
  #attaching: Promise<void> | undefined
  #compared: Promise<void> = Promise.resolve()
  #failure: StorageError | undefined
  #refused: StorageError | undefined
  #isOpen = false
  #leads = true
  /** Whether this client has attached as the leader. */
  #isLeaders = false
  /** The number that this client stored when it raised the fence; 0 before that. */
  #fence = 0
  #heard = 0
  #life: string | undefined
  /** The owner that the database has. While this client has the fence, nobody else stores another one. */
  #storedCaller: string | undefined
  #writes = 0
  #wipes = 0
  /** The number of openings since `#openingsFrom`, in ms since the epoch. */
  #openings = 0
  #openingsFrom = Number.NEGATIVE_INFINITY
  #againMs = againMs
  #frozen = new AbortController()
  #isBack: Deferred<void> | undefined
  #isClosed = false
  /** Whether the browser has closed the database by itself, and may have emptied it. */
  #isLost = false
  #isGone = false

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#again = new Timer(options.clock, () => {
      this.#againMs = laterMs
      void this.attach()
    })
    const unsubscribe = options.lifecycle?.subscribe((event) => {
      if (event === 'frozen') this.#freeze()
      // Not every browser reports that a page has resumed.
      else if (event === 'resumed' || event === 'visible') this.#thaw()
    })
    this.#unsubscribe = () => unsubscribe?.()
  }

  /** Whether this client has attached at least once. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Whether something has deleted the database on purpose, or opened a newer version of it. It is never opened again. */
  get isGone(): boolean {
    return this.#isGone
  }

  /** Why no database is open; `undefined` if one is open. */
  get failure(): StorageError | undefined {
    return this.#failure
  }

  /** Why the leader has not raised the fence: there was no room. */
  get refused(): StorageError | undefined {
    return this.#refused
  }

  get kind(): Store['kind'] {
    return this.#isOpen ? (this.#options.store?.kind ?? 'memory') : 'memory'
  }

  /** The life of the database: see {@link Connection}. */
  get life(): string | undefined {
    return this.#life
  }

  /** Whether this client is the leader, which stores the data. Any other client stores its transactions only. */
  get leads(): boolean {
    return this.#leads
  }

  /** The number of this client as the leader; `undefined` if it does not lead, or not yet. */
  get term(): number | undefined {
    return this.#isLeaders ? this.#fence : undefined
  }

  /** The number that this client stored when it raised the fence; 0 before that. */
  get fence(): number {
    return this.#fence
  }

  /** The number of writes of data that this client has begun. While it is unchanged, this client has changed nothing. */
  get writes(): number {
    return this.#writes
  }

  /** How often the browser has evicted the database. */
  get wipes(): number {
    return this.#wipes
  }

  /** Stores the data from now on, and locks out the previous leader. */
  lead(): void {
    if (this.#leads) return
    this.#leads = true
    if (this.#isOpen) void this.attach()
  }

  /** Leaves storing the data to another client. */
  follow(): void {
    this.#leads = false
    this.#isLeaders = false
    this.#fence = 0
    this.#refused = undefined
  }

  /** Another client leads with the number `term`. This client will lead with a higher one. */
  heard(term: number): void {
    this.#heard = Math.max(this.#heard, term)
  }

  /**
   * Attaches, and opens the database if it is not open. Resolves once that has succeeded or failed; never rejects. Calls
   * that overlap share one try.
   */
  attach(): Promise<void> {
    this.#attaching ??= this.#attach().finally(() => {
      this.#attaching = undefined
      // This client may have begun to lead just now.
      if (this.#connection && !this.#failure && this.#leads && !this.#isLeaders) void this.attach()
    })
    return this.#attaching
  }

  /** The try to attach that is under way. */
  get attaching(): Promise<void> | undefined {
    return this.#attaching
  }

  /** Resolves once no try to attach is under way, and memory and disk are compared. */
  async settled(): Promise<void> {
    while (this.#attaching) await this.#attaching
    await this.#compared
  }

  /**
   * Runs `body` in one transaction. Rejects with the error of `body`, or with a StorageError; it is not known then
   * whether the transaction was stored. It is never run again, unless the page was frozen meanwhile.
   */
  async run<T>(options: TransactionOptions, body: (tx: StoreTransaction) => T | Promise<T>): Promise<T> {
    const wipes = this.#wipes
    for (;;) {
      // If the database is open, begin in this turn: the disk then works while the delta is applied in memory.
      const connection = this.#connection ?? (await this.#opened())
      // The browser has emptied the database since. Unsent transactions must be stored again before this one.
      if (this.#wipes > wipes) throw closedConnection(true)
      const { signal } = this.#frozen
      try {
        return await connection.transaction({ ...options, signal }, body)
      } catch (error) {
        if (signal.aborted && !this.#isClosed) continue
        if (isSyncError(error, 'StorageError') && error.code === 'closed') this.#lose(connection, error)
        throw error
      }
    }
  }

  read<T>(tables: readonly Table[], body: (tx: StoreTransaction) => Promise<T>): Promise<T> {
    return this.run({ tables: ['meta', ...tables], mode: 'read' }, body)
  }

  /**
   * Runs `body` in one transaction that writes data, and stores the owner of the data with it. Rejects with a
   * StorageError of code `fenced` if another client has raised the fence, or if the database belongs to another user;
   * of code `aborted` if this client has raised it again since it was `fence`, or the browser has emptied the database.
   */
  async write<T>(
    tables: readonly Table[],
    body: (tx: StoreTransaction) => T | Promise<T>,
    fence?: number,
  ): Promise<T> {
    this.#writes += 1
    const wipes = this.#wipes
    if (this.#fence === 0) await this.raise()
    const own = this.#fence
    // In an emptied database, transactions have other keys than the caller knows.
    if (this.#wipes > wipes || (fence !== undefined && fence !== own)) throw attachedAgain()
    const caller = this.#options.caller()
    const written = await this.run({ tables: ['meta', ...tables], mode: 'write' }, async (tx) => {
      // Compare the fence while `body` reads. If the comparison throws, the store undoes the writes of `body`.
      const [, , result] = await Promise.all([compare(tx, own), this.#own(tx, caller), body(tx)])
      return result
    })
    this.#storedCaller = caller
    return written
  }

  /** Raises the fence, unless this client has raised it. Rejects with a StorageError; `fenced` in a follower. */
  async raise(): Promise<void> {
    if (this.#leads && this.#fence === 0) await this.attach()
    if (this.#fence === 0) throw this.#refused ?? this.#failure ?? takenOver()
  }

  /** Removes all data that can be fetched again. */
  async drop(): Promise<void> {
    if (!this.#isLeaders || this.#fence > 0) return this.write(data.tables, drop)
    // Raising the fence needs room, and this method is called to make room.
    await this.run(data, drop)
    // Lock out earlier clients: they must not append to data that is gone.
    await this.raise().catch(() => {})
  }

  /** Stores the owner of the data now, unless the database has it. Rejects as `write` does. */
  async storeCaller(): Promise<void> {
    const caller = this.#options.caller()
    if (caller !== undefined && caller !== this.#storedCaller) await this.write([], () => {})
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#unsubscribe()
    this.#isBack?.resolve()
    if (this.#attaching) await this.#attaching
    this.#again.clear()
    this.#connection?.close()
  }

  async #opened(): Promise<StoreConnection> {
    await this.#isBack?.promise
    await this.#attaching
    if (this.#connection) return this.#connection
    throw this.#failure ?? closedConnection(!this.#isClosed)
  }

  async #attach(): Promise<void> {
    const { store, name, listener } = this.#options
    let found: Found = this.#isOpen ? 'same' : 'first'
    const report = () => {
      if (found !== 'same') listener.moved()
      this.#compared = this.#compared.then(() => listener.attached(found))
    }
    while (store && !this.#isGone && !this.#isClosed) {
      await this.#isBack?.promise
      const { signal } = this.#frozen
      const leads = this.#leads
      let connection = this.#connection
      const isNew = connection === undefined
      // After a freeze, there is no failure.
      if (isNew && this.#failure && !this.#mayOpen()) return
      try {
        connection ??= await store.open(name)
        const { life, fence, refused } = await this.#compare(connection, leads, signal)
        if (this.#isClosed || signal.aborted) throw closedConnection(!this.#isClosed)
        if (this.#isOpen && life !== this.#life) {
          found = 'wiped'
          this.#wipes += 1
        }
        if (found !== 'same') this.#storedCaller = undefined
        this.#life = life
        if (isNew) this.#use(connection)
        // This client has begun or ended to lead meanwhile.
        if (leads !== this.#leads) continue
        const isToCompare = isNew || found !== 'same' || leads !== this.#isLeaders
        this.#isOpen = true
        this.#isLeaders = leads
        this.#fence = fence
        this.#heard = Math.max(this.#heard, fence)
        const wasRefused = this.#refused !== undefined
        this.#refused = refused
        this.#failure = undefined
        this.#isLost = false
        this.#againMs = againMs
        this.#again.clear()
        if (isToCompare) report()
        if (isNew || wasRefused !== (refused !== undefined)) listener.changed()
        return
      } catch (error) {
        if (connection && connection !== this.#connection) connection.close()
        const wasFrozen = signal.aborted && !this.#isClosed
        if (wasFrozen) continue
        const failure = toStorageError(error)
        if (connection && connection === this.#connection && failure.code === 'closed') {
          this.#leave(failure)
          continue
        }
        this.#fail(failure)
        // The browser has emptied the database: report it now, so that unsent transactions are stored before new ones.
        if (found === 'wiped') report()
        return
      }
    }
  }

  /**
   * Compares the database with what this client knows of it, and raises the fence if it leads. Rejects with a
   * StorageError, of code `signed_out` if the user has signed out meanwhile.
   */
  async #compare(connection: StoreConnection, leads: boolean, signal: AbortSignal) {
    const { newLife, wasDeleted } = this.#options
    const known = this.#life
    const run: StoreConnection['transaction'] = (options, body) =>
      connection.transaction({ ...options, signal }, body)
    const meta = { tables: ['meta'], mode: 'read' } as const
    if (known !== undefined) {
      const [life, begun] = await run({ tables: ['meta', 'outbox'], mode: 'read' }, (tx) =>
        Promise.all([readLife(tx), tx.get('outbox', lifeKey)]),
      )
      // Only a sign-out stores the life in the outbox.
      if (life !== known && (begun !== undefined || (!this.#isLost && (await wasDeleted()))))
        throw signedOut()
    }
    if (!leads) {
      const life = await run(meta, readLife)
      const made = life ?? (await run({ ...meta, mode: 'write' }, (tx) => ensureLife(tx, newLife)))
      return { life: made, fence: 0, refused: undefined }
    }
    try {
      return await run(data, async (tx) => {
        const [head, life, fence] = await Promise.all([
          tx.get('meta', metaKeys.head),
          ensureLife(tx, newLife),
          raiseIn(tx, this.#heard),
        ])
        if (isOtherFormat(head)) drop(tx)
        return { life, fence, refused: undefined }
      })
    } catch (error) {
      const refused = toStorageError(error)
      if (refused.code !== 'quota') throw error
      // Without room, this client can still read.
      return { life: await run(meta, readLife), fence: 0, refused }
    }
  }

  /** Whether the database may be opened now. If not, it is opened later. */
  #mayOpen(): boolean {
    const { clock } = this.#options
    if (!isWithin(clock, this.#openingsFrom, againMs)) {
      this.#openingsFrom = clock.now()
      this.#openings = 0
    }
    this.#openings += 1
    if (this.#openings <= maxOpenings) return true
    this.#again.within(againMs)
    return false
  }

  #use(connection: StoreConnection): void {
    this.#connection = connection
    connection.onLost((failure) => this.#lose(connection, failure))
  }

  /** `connection` is closed. Opens the database again, unless something has deleted it on purpose. */
  #lose(connection: StoreConnection, failure: StorageError): void {
    if (connection !== this.#connection) return
    this.#leave(failure)
    void this.attach()
  }

  /** Closes the connection: because the page is frozen, or because of `failure`. */
  #leave(failure?: StorageError): void {
    this.#connection?.close()
    this.#connection = undefined
    this.#fence = 0
    this.#isLeaders = false
    if (!failure) return
    this.#failure = failure
    this.#isLost = failure.retryable
    this.#isGone = !failure.retryable
    this.#options.listener.changed()
  }

  #fail(failure: StorageError): void {
    this.#failure = failure
    if (failure.code === 'closed' && failure.retryable) this.#isLost = true
    const isOver = this.#isClosed || this.#isGone || failure.code === 'signed_out'
    if (!isOver) this.#again.within(this.#againMs)
    this.#options.listener.changed()
  }

  #freeze(): void {
    this.#isBack ??= new Deferred()
    this.#frozen.abort()
    this.#leave()
  }

  #thaw(): void {
    const isBack = this.#isBack
    if (!isBack) return
    this.#isBack = undefined
    this.#frozen = new AbortController()
    isBack.resolve()
    if (this.#isOpen) void this.attach()
  }

  /** Stores `caller` with the data, unless the database has another owner. */
  async #own(tx: StoreTransaction, caller: string | undefined): Promise<void> {
    if (caller === undefined || caller === this.#storedCaller) return
    const stored = await readCaller(tx)
    if (stored !== undefined && stored !== caller) throw takenOver()
    tx.put('meta', metaKeys.caller, caller)
  }
}

async function compare(tx: StoreTransaction, fence: number): Promise<void> {
  if ((await tx.get('meta', metaKeys.fence)) !== fence) throw takenOver()
}

function attachedAgain(): StorageError {
  return new StorageError('aborted', 'The local database was opened again meanwhile.')
}

function takenOver(): StorageError {
  return new StorageError('fenced', 'Another client stores the data.')
}
