import { isOp } from '../protocol/fold.ts'
import { isName, isPayload, isSid } from '../protocol/guards.ts'
import { isObject, type Payload, readJson } from '../protocol/json.ts'
import type { Rejection, TxOp } from '../protocol/tx.ts'
import type { StoreConnection, StoreTransaction, StoreValue } from '../storage/store.ts'

/** A transaction as it is kept, until the server's answer to it has come back in the data. */
export interface OutboxRecord {
  /** Its order is the order of the transactions. */
  readonly id: string
  /** `sending`: the server may have it. */
  readonly state: 'queued' | 'sending' | 'accepted' | 'rejected'
  /** When it was made, in ms since the epoch. */
  readonly at: number
  /** The position on top of which it was made. */
  readonly since: number
  /** The history in which that counts, and what its ops ask for; `undefined` where none is known. */
  readonly epoch?: string | undefined
  readonly ops: readonly TxOp[]
  /** In which the server may have it, too: its ops as other versions of the application have them. */
  readonly shapes?: readonly (readonly TxOp[])[] | undefined
  /** The records that it touches, as they were shown before. */
  readonly before: readonly RecordImage[]
  readonly bases: readonly string[]
  readonly requires: readonly string[]
  /** The version of the models that its ops are written for. */
  readonly version: number
  readonly label?: string | undefined
  readonly group?: string | undefined
  readonly coalesce?: string | undefined
  /** It takes something back, or does it again: what somebody else has changed is left out before it is first sent. */
  readonly isUndo?: boolean | undefined
  /** The rejected transaction in whose place it stands. */
  readonly retryOf?: string | undefined
  /** All that it makes anew, one try after the other, rejected or undone: what required one of them requires it. */
  readonly replaces?: readonly string[] | undefined
  /** Of one that was accepted: the position of its last change, and the history in which that position counts. */
  readonly sid?: number | undefined
  readonly acceptedEpoch?: string | undefined
  /** The data has shown what came of it: it is never sent again, whatever history follows. */
  readonly seen?: boolean | undefined
  /** Of one that was rejected. */
  readonly error?: Rejection | undefined
}

export interface RecordImage {
  readonly t: string
  readonly id: string
  /** `null`: there was none. */
  readonly p: Payload | null
}

/** What is found when the outbox is opened. */
export interface StoredOutbox {
  readonly records: readonly OutboxRecord[]
  /** What cannot be read, as it is stored. It is left where it is. */
  readonly unreadable: readonly StoreValue[]
}

/** What other clients of the same data have made of the outbox. */
export interface OtherTransactions {
  readonly records: readonly OutboxRecord[]
  /** Of all that are there. */
  readonly ids: ReadonlySet<string>
  /** Of those that were cancelled or discarded, the last ones. */
  readonly gone: readonly string[]
}

/** The transactions of one identity on disk. Each write is one transaction of the store, and flushed when it resolves. */
export interface OutboxStore {
  read(): Promise<StoredOutbox>
  /** One that was there; `undefined` where it cannot be told what has become of it. */
  find(id: string): Promise<OutboxRecord | 'gone' | undefined>
  /** What has become of all since; of what is there, the records that `isKnown` does not name. */
  readOthers(isKnown: (id: string) => boolean): Promise<OtherTransactions>
  /**
   * Gives the ids of those to `cancel` that another client may have sent, and of those to `send`, to `keep` or to `restore`
   * that one has cancelled or discarded. Where one has discarded some of those that are to leave for what is `put`, gives
   * their ids, and has only marked that as cancelled.
   */
  write(change: OutboxChange): Promise<readonly string[]>
}

/** What to change, in one step. Several clients of one identity may hold a transaction, and each would send it. */
export interface OutboxChange {
  readonly put?: readonly OutboxRecord[]
  readonly remove?: readonly string[]
  /** Are removed, with a mark that they are neither to be sent nor to be kept. */
  readonly discard?: readonly string[]
  /** The id of what takes the place of those to `cancel` and to `discard`, if anything does. It is `put` with them, or was lost. */
  readonly by?: string
  /** Are put, unless another client has cancelled or discarded them. */
  readonly keep?: readonly OutboxRecord[]
  /** Are put where they are still on the disk: another client may have seen their end. */
  readonly update?: readonly OutboxRecord[]
  /** Are put where they were cancelled or discarded, and take their marks away. Elsewhere the disk knows better. */
  readonly restore?: readonly OutboxRecord[]
  /** Are removed if they are queued, with a mark that they are not to be sent. */
  readonly cancel?: readonly string[]
  /** Are about to be sent for the first time: kept as such where they are queued. */
  readonly send?: readonly OutboxRecord[]
}

/**
 * Before the id of each one that was cancelled or discarded, where it sorts behind all ids. Under it stands the id of what
 * took its place, or `true`.
 */
const mark = '~'

/** So many marks stay, which is more than clients can hold that have not heard of it. */
const maxMarks = 1_000

/** The outbox in `connection`. Its writes are not fenced: whoever has the database open may add what its user did. */
export function openOutbox(connection: StoreConnection): OutboxStore {
  const within = <T>(mode: 'read' | 'write', body: (tx: StoreTransaction) => T | Promise<T>) =>
    connection.transaction({ tables: ['outbox'], mode, durability: 'strict' }, body)
  return {
    read: () =>
      within('read', async (tx) => {
        const stored = await tx.values('outbox', { to: mark })
        const read = stored.map((value) => ({ value, record: readRecord(value) }))
        return {
          records: read.flatMap(({ record }) => record ?? []),
          unreadable: read.flatMap(({ value, record }) => (record ? [] : [value])),
        }
      }),
    find: (id) =>
      within('read', async (tx) => {
        const value = await tx.get('outbox', id)
        return value === undefined ? 'gone' : readRecord(value)
      }),
    readOthers: (isKnown) =>
      within('read', async (tx) => {
        const [ids, marks] = await Promise.all([tx.keys('outbox', { to: mark }), marksIn(tx)])
        const others = ids.filter((id) => !isKnown(id)).map((id) => tx.get('outbox', id))
        const stored = new Set(ids)
        return {
          records: (await Promise.all(others)).flatMap((value) => readRecord(value) ?? []),
          ids: stored,
          gone: marks.map((key) => key.slice(mark.length)).filter((id) => !stored.has(id)),
        }
      }),
    write: ({ put = [], ...rest }) => {
      const putAll = (tx: StoreTransaction, records: readonly OutboxRecord[]) => {
        for (const record of records) tx.put('outbox', record.id, JSON.stringify(record))
      }
      // To read nothing lets the engine commit one at once: so it outlives a page that is just about to close.
      if (Object.keys(rest).length === 0) return within('write', (tx) => putAll(tx, put)).then(() => [])
      const {
        remove = [],
        discard = [],
        by,
        keep = [],
        update = [],
        restore = [],
        cancel = [],
        send = [],
      } = rest
      return within('write', async (tx) => {
        const stored = new Set<string>()
        const queued = new Set<string>()
        const marked = new Map<string, StoreValue>()
        const look = async (id: string) => {
          const [value, itsMark] = await Promise.all([tx.get('outbox', id), tx.get('outbox', markOf(id))])
          if (value !== undefined) stored.add(id)
          if (readRecord(value)?.state === 'queued') queued.add(id)
          if (value === undefined && itsMark !== undefined) marked.set(id, itsMark)
        }
        const toStay = [...send, ...keep, ...restore].map(({ id }) => id)
        await Promise.all([...cancel, ...discard, ...toStay, ...update.map(({ id }) => id)].map(look))
        // What is written once more, as its end was not heard of, finds its own marks, or those of what it was to replace.
        const own = new Set<StoreValue | undefined>([by, ...cancel, ...discard])
        const others = discard.filter((id) => marked.has(id) && !own.has(marked.get(id)))
        if (by !== undefined && put.length > 0 && others.length > 0) {
          tx.put('outbox', markOf(by), true)
          return others
        }
        const restored = restore.filter(({ id }) => marked.has(id))
        const kept = [
          ...send.filter(({ id }) => queued.has(id)),
          ...keep.filter(({ id }) => !marked.has(id)),
          ...update.filter(({ id }) => stored.has(id)),
          ...restored,
        ]
        putAll(tx, [...put, ...kept])
        for (const id of remove) tx.delete('outbox', id)
        for (const { id } of restored) tx.delete('outbox', markOf(id))
        const gone = [...cancel.filter((id) => queued.has(id)), ...discard]
        for (const id of gone) {
          tx.delete('outbox', id)
          tx.put('outbox', markOf(id), by ?? true)
        }
        const marks = gone.length > 0 ? await marksIn(tx) : []
        for (const key of marks.slice(0, -maxMarks)) tx.delete('outbox', key)
        const sent = cancel.filter((id) => !queued.has(id) && !marked.has(id))
        return [...sent, ...toStay.filter((id) => marked.has(id))]
      })
    },
  }
}

function markOf(id: string): string {
  return mark + id
}

function marksIn(tx: StoreTransaction): Promise<readonly string[]> {
  return tx.keys('outbox', { from: mark })
}

function readRecord(text: StoreValue | undefined): OutboxRecord | undefined {
  const value = readJson(text)
  return isRecord(value) ? value : undefined
}

function isRecord(value: unknown): value is OutboxRecord {
  if (!isObject(value)) return false
  const { id, state, at, since, ops, shapes = [], before, bases, requires, replaces = [], version } = value
  return (
    typeof id === 'string' &&
    (state === 'queued' ||
      state === 'sending' ||
      state === 'rejected' ||
      (state === 'accepted' && isSid(value.sid))) &&
    typeof at === 'number' &&
    isSid(since) &&
    isOps(ops) &&
    isListOf(shapes, isOps) &&
    isListOf(before, isImage) &&
    isListOf(bases, isName) &&
    isListOf(requires, isName) &&
    isListOf(replaces, isName) &&
    typeof version === 'number'
  )
}

function isListOf<T>(value: unknown, isItem: (item: unknown) => item is T): value is readonly T[] {
  return Array.isArray(value) && value.every(isItem)
}

function isOps(value: unknown): value is readonly TxOp[] {
  return isListOf(value, isOp)
}

function isImage(value: unknown): value is RecordImage {
  return isObject(value) && isName(value.t) && isName(value.id) && (value.p === null || isPayload(value.p))
}
