import { StorageError, toStorageError } from '../base/errors.ts'
import type { KeySpan, StoreConnection, StoreTransaction, StoreValue, Table } from '../storage/store.ts'
import { after, fenceOf, isOtherFormat, journalKey, metaKeys, taken } from './format.ts'

/** All but the outbox. */
const data = { tables: ['meta', 'pages', 'journal'], mode: 'write' } as const

/** Of so many who were here before, places in the journal stay taken. */
const maxFormers = 1_000

/** The fence of a connection that was opened beside another client: no client ever raises it so far. */
const beside = -1

/** A connection whose every write is refused once somebody else has opened the database. */
export class FencedConnection {
  readonly #connection: StoreConnection
  /** 0 until it is raised. */
  #fence: number
  #raising: Promise<number> | undefined
  #writes = 0

  private constructor(connection: StoreConnection, fence = 0) {
    this.#connection = connection
    this.#fence = fence
  }

  /**
   * Raises the fence, so that whoever was here before is refused. Where there is no room for that, what is there can be read
   * all the same.
   */
  static async raise(connection: StoreConnection): Promise<FencedConnection> {
    const database = new FencedConnection(connection)
    await database.own().catch((error) => {
      if (toStorageError(error).code !== 'quota') throw error
    })
    return database
  }

  /** Leaves the data to the client that has opened the database: every write is refused. */
  static beside(connection: StoreConnection): FencedConnection {
    return new FencedConnection(connection, beside)
  }

  get fence(): number {
    return this.#fence
  }

  /** Raises the fence, unless it was. To be called before its number is used. */
  async own(): Promise<void> {
    if (this.#fence === beside) throw takenOver()
    if (this.#fence > 0) return
    this.#raising ??= raised(this.#connection).finally(() => {
      this.#raising = undefined
    })
    this.#fence = await this.#raising
  }

  /** How many writes were begun: while it stays the same, nothing has changed, or is about to. */
  get writes(): number {
    return this.#writes
  }

  /** Runs `body` in one write transaction. Rejects with a StorageError of code `fenced` where somebody came after us. */
  async write<T>(tables: readonly Table[], body: (tx: StoreTransaction) => T | Promise<T>): Promise<T> {
    this.#writes += 1
    // In the same turn, so that the disk works while what is written is applied.
    if (this.#fence <= 0) await this.own()
    return this.#connection.transaction({ tables: ['meta', ...tables], mode: 'write' }, async (tx) => {
      // Side by side with the reads of `body`; whatever it has put by then, a throw takes back.
      const [, result] = await Promise.all([this.#compare(tx), body(tx)])
      return result
    })
  }

  /**
   * Adds `record` to the journal right behind `last`, and resolves with its key. Rejects as `write` does: whoever came
   * after us has taken the place, so nothing need be read, and the engine commits at once.
   */
  async add(last: string | undefined, record: StoreValue): Promise<string> {
    this.#writes += 1
    const key = journalKey(this.#fence, last)
    await this.#connection
      .transaction({ tables: ['journal'], mode: 'write' }, (tx) => tx.add('journal', key, record))
      .catch((error) => {
        throw toStorageError(error).code === 'fenced' ? takenOver(error) : error
      })
    return key
  }

  /** Removes the records of the journal in `span`. The places of those who were here before stay taken. */
  cut(tx: StoreTransaction, span: KeySpan): Promise<void> {
    return cut(tx, span, this.#fence)
  }

  read<T>(tables: readonly Table[], body: (tx: StoreTransaction) => Promise<T>): Promise<T> {
    return this.#connection.transaction({ tables: ['meta', ...tables], mode: 'read' }, body)
  }

  /** Removes all that can be fetched again. */
  async drop(): Promise<void> {
    if (this.#fence !== 0) return this.write(data.tables, (tx) => drop(tx, this.#fence))
    // To raise the fence takes room, which this is to make.
    await this.#connection.transaction(data, (tx) => drop(tx, Number.POSITIVE_INFINITY))
    // Whoever was here before is not to store what follows from nothing.
    await this.own().catch(() => {})
  }

  close(): void {
    this.#connection.close()
  }

  async #compare(tx: StoreTransaction): Promise<void> {
    if ((await tx.get('meta', metaKeys.fence)) !== this.#fence) throw takenOver()
  }
}

/** Its message is shown to users, as the reason why nothing is stored. */
function takenOver(cause?: unknown): StorageError {
  const message = 'Another tab stores the data now; what is written here is kept all the same.'
  return new StorageError('fenced', message, { cause })
}

/** Gives the fence, which nobody else has. Drops data of another format. */
function raised(connection: StoreConnection): Promise<number> {
  return connection.transaction(data, async (tx) => {
    const [last, head, [key]] = await Promise.all([
      tx.get('meta', metaKeys.fence),
      tx.get('meta', metaKeys.head),
      tx.keys('journal', { reverse: true, limit: 1 }),
    ])
    const former = typeof last === 'number' ? last : 0
    const fence = former + 1
    if (isOtherFormat(head)) await drop(tx, 0)
    tx.put('meta', metaKeys.fence, fence)
    if (former > 0) tx.put('journal', journalKey(former, key), taken)
    return fence
  })
}

/** Leaves the places of those below `fence` taken. */
function drop(tx: StoreTransaction, fence: number): Promise<void> {
  tx.delete('meta', metaKeys.head)
  tx.delete('meta', metaKeys.manifest)
  tx.delete('meta', metaKeys.repair)
  tx.delete('pages', {})
  return cut(tx, {}, fence)
}

/** Leaves the last key of each former one, which is its place, or by which it is found. */
async function cut(tx: StoreTransaction, span: KeySpan, fence: number): Promise<void> {
  const keys = await tx.keys('journal', span)
  // The last one of each.
  const places = new Map(keys.map((key) => [fenceOf(key), key]))
  let { from = '' } = span
  for (const [former, place] of [...places].slice(-maxFormers)) {
    if (former >= fence) break
    tx.delete('journal', { from, to: place })
    from = after(place)
  }
  tx.delete('journal', { ...span, from })
}
