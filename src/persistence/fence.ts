import { StorageError, toStorageError } from '../base/errors.ts'
import { epochAndCallerOf } from '../protocol/guards.ts'
import type { StoreConnection, StoreTransaction, Table } from '../storage/store.ts'
import { isOtherFormat, metaKeys } from './format.ts'

/** The tables of the data: all but the outbox. */
const data = { tables: ['meta', 'pages', 'journal'], mode: 'write' } as const

/** The `#fence` of a follower. A fence that is stored is at least 1. */
const follower = -1

/** Returns a random name for the life of a new database: see `Database.signOut`. `undefined`: lives have no names. */
export type NewLife = (() => string) | undefined

/** Returns the owner of this client's data, as the service names the user; `undefined` while that is not known. */
export type Caller = () => string | undefined

/** A connection to the database. Only the leader can write data, until another client raises the fence. */
export class FencedConnection {
  readonly #connection: StoreConnection
  /** The number that this connection stored when it raised the fence. 0 before that; `follower` if it does not lead. */
  #fence: number
  #raising: ReturnType<typeof raiseFence> | undefined
  readonly #newLife: NewLife
  readonly #caller: Caller
  /** The owner that the database has. While this connection has the fence, nobody else stores another one. */
  #storedCaller: string | undefined
  #life: string | undefined
  #refused: StorageError | undefined
  #writes = 0

  private constructor(connection: StoreConnection, newLife: NewLife, caller: Caller, fence = 0) {
    this.#connection = connection
    this.#newLife = newLife
    this.#caller = caller
    this.#fence = fence
  }

  /**
   * Opens `connection` as the leader: raises the fence, which locks out the previous leader. If there is no room to
   * store the new fence, the connection can still read.
   */
  static async lead(
    connection: StoreConnection,
    newLife: NewLife,
    caller: Caller,
  ): Promise<FencedConnection> {
    const database = new FencedConnection(connection, newLife, caller)
    await database.ensureRaised().catch(async (error) => {
      database.#refused = toStorageError(error)
      if (database.#refused.code !== 'quota') throw error
      database.#life = await database.read([], readLife)
    })
    return database
  }

  /** Opens `connection` as a follower: every write of data rejects with code `fenced`. */
  static async follow(
    connection: StoreConnection,
    newLife: NewLife,
    caller: Caller,
  ): Promise<FencedConnection> {
    const database = new FencedConnection(connection, newLife, caller, follower)
    const life = await database.read([], readLife)
    const options = { tables: ['meta'], mode: 'write' } as const
    database.#life = life ?? (await connection.transaction(options, (tx) => ensureLife(tx, newLife)))
    return database
  }

  /** The life of the database when it was opened: see `Database.signOut`. */
  get life(): string | undefined {
    return this.#life
  }

  get fence(): number {
    return this.#fence
  }

  /** Why the fence could not be raised when the database was opened; `undefined` once it is raised. */
  get refused(): StorageError | undefined {
    return this.#fence > 0 ? undefined : this.#refused
  }

  /** Raises the fence, unless this connection has already raised it. Call this before using `fence`. */
  async ensureRaised(): Promise<void> {
    if (this.#fence === follower) throw takenOver()
    if (this.#fence > 0) return
    this.#raising ??= raiseFence(this.#connection, this.#newLife).finally(() => {
      this.#raising = undefined
    })
    const [fence, life] = await this.#raising
    this.#fence = fence
    this.#life = life
  }

  /**
   * The number of writes that this connection has begun. While this number is unchanged, this client has changed
   * nothing.
   */
  get writes(): number {
    return this.#writes
  }

  /** Whether the database has the owner of the data, as far as this client knows the owner. */
  get isCallerStored(): boolean {
    const caller = this.#caller()
    return caller === undefined || caller === this.#storedCaller
  }

  /**
   * Runs `body` in one write transaction, which also stores the owner of the data. Rejects with a StorageError of code
   * `fenced` if another client has raised the fence, or if the database belongs to another user.
   */
  async write<T>(tables: readonly Table[], body: (tx: StoreTransaction) => T | Promise<T>): Promise<T> {
    this.#writes += 1
    // If the fence is raised, begin the transaction in this turn: the disk then works while the delta is applied in
    // memory.
    if (this.#fence <= 0) await this.ensureRaised()
    const caller = this.#caller()
    const options = { tables: ['meta', ...tables], mode: 'write' } as const
    const written = await this.#connection.transaction(options, async (tx) => {
      // Compare the fence while `body` reads. If the comparison throws, the store undoes the writes of `body`.
      const [, , result] = await Promise.all([this.#compare(tx), this.#own(tx, caller), body(tx)])
      return result
    })
    this.#storedCaller = caller
    return written
  }

  read<T>(tables: readonly Table[], body: (tx: StoreTransaction) => Promise<T>): Promise<T> {
    return this.#connection.transaction({ tables: ['meta', ...tables], mode: 'read' }, body)
  }

  /** Removes all data that can be fetched again. */
  async drop(): Promise<void> {
    if (this.#fence !== 0) return this.write(data.tables, drop)
    // Raising the fence needs room, and this method is called to make room.
    await this.#connection.transaction(data, drop)
    // Lock out earlier clients: they must not append to data that is gone.
    await this.ensureRaised().catch(() => {})
  }

  /** Stores `caller` with the data, unless the database has another owner. */
  async #own(tx: StoreTransaction, caller: string | undefined): Promise<void> {
    if (caller === undefined || caller === this.#storedCaller) return
    const stored = await readCaller(tx)
    if (stored !== undefined && stored !== caller) throw takenOver()
    tx.put('meta', metaKeys.caller, caller)
  }

  async #compare(tx: StoreTransaction): Promise<void> {
    if ((await tx.get('meta', metaKeys.fence)) !== this.#fence) throw takenOver()
  }
}

function takenOver(): StorageError {
  return new StorageError('fenced', 'Another client stores the data.')
}

/**
 * Raises the stored fence. Resolves with the new fence, which no other client gets, and with the life of the database.
 * Drops data of another format.
 */
function raiseFence(
  connection: StoreConnection,
  newLife: NewLife,
): Promise<readonly [fence: number, life: string | undefined]> {
  return connection.transaction(data, async (tx) => {
    const [head, life, fence] = await Promise.all([
      tx.get('meta', metaKeys.head),
      ensureLife(tx, newLife),
      raiseIn(tx),
    ])
    if (isOtherFormat(head)) drop(tx)
    return [fence, life] as const
  })
}

/** Resolves with the stored life: see `Database.signOut`. */
export async function readLife(tx: StoreTransaction): Promise<string | undefined> {
  const life = await tx.get('meta', metaKeys.life)
  return typeof life === 'string' ? life : undefined
}

/** Resolves with the stored owner of the data. */
export async function readCaller(tx: StoreTransaction): Promise<string | undefined> {
  return epochAndCallerOf({ caller: await tx.get('meta', metaKeys.caller) }).caller
}

/** Resolves with the life of the database. If none is stored, stores a new one, provided that lives have names. */
async function ensureLife(tx: StoreTransaction, newLife: NewLife): Promise<string | undefined> {
  const stored = await readLife(tx)
  const life = stored ?? newLife?.()
  if (life !== undefined && life !== stored) tx.put('meta', metaKeys.life, life)
  return life
}

/** Raises the fence as a part of `tx`, which locks out the leader. Resolves with the new fence. */
export async function raiseIn(tx: StoreTransaction): Promise<number> {
  const former = await tx.get('meta', metaKeys.fence)
  const fence = typeof former === 'number' ? former + 1 : 1
  tx.put('meta', metaKeys.fence, fence)
  return fence
}

/** Removes all data. The outbox, the fence, the life and the caller stay, so that the data stays this user's. */
export function drop(tx: StoreTransaction): void {
  for (const key of [metaKeys.head, metaKeys.manifest, metaKeys.repair]) tx.delete('meta', key)
  for (const table of ['pages', 'journal'] as const) tx.delete(table, {})
}
