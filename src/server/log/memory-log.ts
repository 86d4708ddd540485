import type { Undo } from '../../base/emitter.ts'
import type { Clock, Random } from '../../base/world.ts'
import { rowKey } from '../../protocol/fold.ts'
import type { SyncFrame } from '../../protocol/frame.ts'
import type { WireRow } from '../../protocol/row.ts'
import type { TxOp } from '../../protocol/tx.ts'
import type {
  Changes,
  Judge,
  Log,
  LoggedChange,
  Position,
  Read,
  Snapshot,
  StoredRecord,
  Told,
} from './log.ts'

const rowsPerBatch = 1_000

interface Entry extends LoggedChange {
  /** Whether a write ends here. */
  readonly last: boolean
}

type KeptRecord = StoredRecord & { readonly t: string; readonly id: string }

/** A log that lives as long as the process. JavaScript runs one thing at a time, which is its lock. */
export class MemoryLog implements Log {
  readonly #records = new Map<string, KeptRecord>()
  #entries: Entry[] = []
  #head = 0
  #horizon = 0
  readonly #history: string
  readonly #clock: Clock
  readonly #listeners = new Set<() => void>()

  constructor({ clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = clock
    this.#history = Array.from(random.bytes(16), (byte) => byte.toString(16).padStart(2, '0')).join('')
  }

  async write(ops: readonly TxOp[], judge: Judge): Promise<number> {
    const at = this.#clock.now()
    const touched = new Map<string, KeptRecord | undefined>()
    const added: Omit<Entry, 'last'>[] = []
    let sid = this.#head
    for (const op of ops) {
      const { t, id } = op
      const key = rowKey(t, id)
      const before = touched.has(key) ? touched.get(key) : this.#records.get(key)
      const { after, told } = judge(before, op)
      for (const { owner, change } of told) {
        sid += 1
        added.push({ sid, owner, frame: frameText(sid, t, id, change, at) })
      }
      if (told.length > 0) touched.set(key, after && { t, id, sid, ...after })
    }
    // Nothing above has changed anything yet, and nothing below can fail.
    for (const [key, record] of touched) {
      if (record) this.#records.set(key, record)
      else this.#records.delete(key)
    }
    for (const entry of added) this.#entries.push({ ...entry, last: entry.sid === sid })
    this.#head = sid
    if (added.length > 0) for (const listener of [...this.#listeners]) listener()
    return sid
  }

  async snapshot(owner: string): Promise<Snapshot> {
    // A record is never changed, only replaced: the list is the snapshot.
    const records = [...this.#records.values()].filter((record) => record.owner === owner)
    return { ...this.#position(), count: records.length, batches: batchesOf(records, rowText) }
  }

  async delta(owner: string, since: number): Promise<Read> {
    const entries =
      since < this.#horizon ? [] : this.#entriesAfter(since).filter((entry) => entry.owner === owner)
    return { ...this.#position(), batches: batchesOf(entries, (entry) => entry.frame) }
  }

  async changes(after: number, limit: number): Promise<Changes> {
    const entries = this.#entriesAfter(after)
    const end = entries.findIndex((entry, index) => entry.last && index >= limit - 1)
    const changes = end < 0 ? entries : entries.slice(0, end + 1)
    const sid = end < 0 ? this.#head : (changes.at(-1)?.sid ?? this.#head)
    return { ...this.#position(), sid, changes }
  }

  async position(): Promise<Position> {
    return this.#position()
  }

  onHint(listener: () => void): Undo {
    const own = () => listener()
    this.#listeners.add(own)
    return () => {
      this.#listeners.delete(own)
    }
  }

  async trim(sid: number): Promise<void> {
    const horizon = Math.max(this.#horizon, Math.min(sid, this.#head))
    this.#entries = this.#entriesAfter(horizon)
    this.#horizon = horizon
  }

  async close(): Promise<void> {
    this.#listeners.clear()
  }

  #position(): Position {
    return { history: this.#history, head: this.#head, horizon: this.#horizon }
  }

  /** Every `sid` above the horizon has its entry, so the place of one follows from its number. */
  #entriesAfter(sid: number): Entry[] {
    return this.#entries.slice(Math.max(0, sid - this.#horizon))
  }
}

async function* batchesOf<T>(items: readonly T[], textOf: (item: T) => string): AsyncGenerator<string> {
  for (let start = 0; start < items.length; start += rowsPerBatch) {
    yield items
      .slice(start, start + rowsPerBatch)
      .map(textOf)
      .join(',')
  }
}

function rowText({ t, id, sid, p }: KeptRecord): string {
  const row: WireRow = { t, id, v: sid, p }
  return JSON.stringify(row)
}

function frameText(sid: number, t: string, id: string, change: Told['change'], at: number): string {
  const frame: SyncFrame = { sid, t, id, ...change, at }
  return JSON.stringify(frame)
}
