import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { type Store, tables } from '../../src/storage/store.ts'
import type { Database } from '../support/database.ts'
import { behind, open } from '../support/store-databases.ts'
import { plain, restoreState, type State, snapshotOf, storeSnapshot } from '../support/store-state.ts'

type Position = Pick<State, 'sid' | 'epoch'>

/** One that opened the database, and where it believes it ends. */
interface Writer {
  readonly database: Database
  at: Position | undefined
}

const kinds = [
  'open',
  'append',
  'append',
  'append',
  'checkpoint',
  'snapshot',
  'drop',
  'damage',
  'restored',
] as const

interface Action {
  readonly kind: (typeof kinds)[number]
  readonly who: number
  readonly n: number
}

/** What the server changes with each number. */
const rowAt = (n: number, epoch: string | undefined) => ({
  t: 'a',
  id: `${n % 3}`,
  p: { n, epoch: epoch ?? '' },
})

const numbers = (since: number, sid: number) => Array.from({ length: sid - since }, (_, i) => since + i + 1)

function stateAt({ sid, epoch }: Position): State {
  return snapshotOf(
    sid,
    numbers(0, sid).map((n) => rowAt(n, epoch)),
    epoch,
  )
}

class Environment {
  readonly #store = memoryStore()
  readonly #writers: Writer[] = []
  #server = { sid: 5, epoch: 'e0' }
  #epochs = 0
  /** What was said to be stored last. */
  #promised: Position | undefined

  /** Runs some at once, each by another writer; then checks what a restart reads. */
  async run(actions: readonly Action[]): Promise<void> {
    const present = this.#writers.at(-1)
    const opens = actions.some(({ kind }) => kind === 'open' || kind === 'damage')
    const begun = new Set<Writer>()
    let opened = false
    await Promise.all(
      actions.map(async (action) => {
        const { kind, who, n } = action
        if (kind === 'restored') return this.#renew()
        if (kind === 'open' || kind === 'damage') {
          if (opened) return
          opened = true
          // Alone, so that it is known what is there no more.
          if (kind === 'damage' && actions.length === 1) await this.#damage(n)
          return this.#open()
        }
        const writer = this.#writers.at(-1 - (who % (this.#writers.length || 1)))
        if (!writer || begun.has(writer)) return
        if (kind !== 'checkpoint') begun.add(writer)
        const done = await this.#change(writer, action)
        if (!opens) expect(done && writer !== present, `${kind} of a former one was taken`).toBe(false)
      }),
    )
    await this.#check(await copyOf(this.#store))
  }

  async #open(): Promise<void> {
    const writer: Writer = { database: await open(this.#store), at: undefined }
    this.#writers.push(writer)
    writer.at = await restoreState(writer.database)
  }

  /** Gives whether it was stored. */
  async #change(writer: Writer, { kind, n }: Action): Promise<boolean> {
    const { database, at } = writer
    try {
      if (kind === 'checkpoint') return await database.checkpoint()
      if (kind === 'drop') {
        writer.at = undefined
        await database.drop()
        this.#promised = undefined
        return true
      }
      if (kind === 'append') {
        if (!at || at.epoch !== this.#server.epoch) return false
        const next = { epoch: at.epoch, sid: at.sid + 1 + (n % 2) }
        this.#server.sid = Math.max(this.#server.sid, next.sid)
        const ops = numbers(at.sid, next.sid).map((one) => ({ op: 'i' as const, ...rowAt(one, next.epoch) }))
        await database.append({ since: at.sid, sid: next.sid, ops })
        return this.#told(writer, next)
      }
      this.#server.sid += n % 3
      const position = { ...this.#server }
      await storeSnapshot(database, stateAt(position))
      return this.#told(writer, position)
    } catch {
      writer.at = undefined
      return false
    }
  }

  #told(writer: Writer, position: Position): boolean {
    writer.at = position
    const { epoch, sid = 0 } = this.#promised ?? {}
    if (epoch !== position.epoch || sid < position.sid) this.#promised = position
    return true
  }

  /** Of the journal, one record cannot be read any more. */
  async #damage(n: number): Promise<void> {
    await behind(this.#store, async (tx) => {
      const key = (await tx.keys('journal')).at(-1 - (n % 3))
      if (key !== undefined) tx.put('journal', key, null)
    })
    this.#promised = undefined
  }

  /** A backup took the server's place. */
  #renew(): void {
    this.#epochs += 1
    this.#server = { sid: Math.max(1, this.#server.sid - 3), epoch: `e${this.#epochs}` }
  }

  async #check(store: Store): Promise<void> {
    const found = await restoreState(await open(store))
    if (found) expect(plain(found)).toEqual(plain(stateAt(found)))
    if (!this.#promised) return
    expect(found?.epoch).toBe(this.#promised.epoch)
    expect(found?.sid).toBeGreaterThanOrEqual(this.#promised.sid)
  }
}

async function copyOf(store: Store): Promise<Store> {
  const copy = memoryStore()
  const all = await behind(store, (tx) =>
    Promise.all(
      tables.map(async (table) => {
        const [keys, values] = await Promise.all([tx.keys(table), tx.values(table)])
        return { table, entries: keys.map((key, index) => [key, values[index] ?? null] as const) }
      }),
    ),
  )
  await behind(copy, async (tx) => {
    for (const { table, entries } of all) for (const [key, value] of entries) tx.put(table, key, value)
  })
  return copy
}

const action = fc.record({ kind: fc.constantFrom(...kinds), who: fc.nat(3), n: fc.nat(9) })

test('of several clients that opened the database, only the last one stores, and a restart reads what it reported as stored', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(action, { minLength: 1, maxLength: 3 }), { minLength: 5, maxLength: 30 }),
      async (groups) => {
        const environment = new Environment()
        await environment.run([{ kind: 'open', who: 0, n: 0 }])
        await environment.run([{ kind: 'snapshot', who: 0, n: 0 }])
        for (const group of groups) await environment.run(group)
      },
    ),
    { numRuns: 200 },
  )
})
