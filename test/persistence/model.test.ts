import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RowOp } from '../../src/protocol/fold.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import type { Database } from '../support/database.ts'
import { open } from '../support/store-databases.ts'
import { type Fault, FaultyStore } from '../support/store-faults.ts'
import {
  appended,
  plain,
  restoreState,
  type State,
  snapshotOf,
  storeSnapshot,
} from '../support/store-state.ts'

/** What must be found after a restart: one of these, the last durable point or what was under way. */
interface Model {
  possible: readonly (State | undefined)[]
}

/** The store, which outlives crashes, and the database of the present process. */
interface Real {
  readonly store: Store
  faulty: FaultyStore
  database: Database
}

type Command = fc.AsyncCommand<Model, Real>

async function restart(model: Model, real: Real): Promise<void> {
  real.faulty = new FaultyStore(real.store)
  real.database = await open(real.faulty.store)
  const found = plain(await restoreState(real.database))
  const texts = model.possible.map((state) => JSON.stringify(plain(state)))
  expect(texts).toContain(JSON.stringify(found))
  model.possible = [model.possible[texts.indexOf(JSON.stringify(found))]]
}

/** A change that may go wrong at one of its steps. */
abstract class Change implements Command {
  readonly fault: { readonly at: number; readonly kind: Exclude<Fault, 'hang'> } | undefined

  constructor(fault: Change['fault']) {
    this.fault = fault
  }

  abstract check(model: Readonly<Model>): boolean
  abstract next(state: State | undefined): State | undefined
  abstract change(database: Database, state: State | undefined): Promise<unknown>

  async run(model: Model, real: Real): Promise<void> {
    const [state] = model.possible
    const next = this.next(state)
    if (this.fault) real.faulty.arm(this.fault.at, this.fault.kind)
    const done = this.change(real.database, state).then(
      () => true,
      () => false,
    )
    const resolved = await Promise.race([done, real.faulty.crashed.then(() => false)])
    real.faulty.disarm()
    model.possible = resolved ? [next] : [state, next]
    if (!resolved) await restart(model, real)
  }

  toString(): string {
    return `${this.constructor.name}${this.fault ? ` with a ${this.fault.kind} at ${this.fault.at}` : ''}`
  }
}

class Append extends Change {
  readonly ops: readonly RowOp[]
  constructor(fault: Change['fault'], ops: readonly RowOp[]) {
    super(fault)
    this.ops = ops
  }
  check = ({ possible: [state] }: Model) => state !== undefined
  next = (state: State | undefined) => state && appended(state, { ...this.#entry(state), ops: this.ops })
  change = (database: Database, state: State | undefined) =>
    state ? database.append({ ...this.#entry(state), ops: this.ops }) : Promise.resolve()
  #entry = ({ sid }: State) => ({ since: sid, sid: sid + 1 })
}

class Snapshot extends Change {
  readonly ids: readonly string[]
  constructor(fault: Change['fault'], ids: readonly string[]) {
    super(fault)
    this.ids = ids
  }
  check = () => true
  next = (state: State | undefined) =>
    snapshotOf(
      (state?.sid ?? 0) + 10,
      this.ids.map((id) => ({ t: 'a', id, p: { from: state?.sid ?? null } })),
    )
  change = (database: Database, state: State | undefined) => storeSnapshot(database, this.next(state), 2)
}

class Checkpoint extends Change {
  check = () => true
  next = (state: State | undefined) => state
  change = (database: Database) => database.checkpoint()
}

class Restart implements Command {
  check = () => true
  async run(model: Model, real: Real): Promise<void> {
    real.database.close()
    await restart(model, real)
  }
  toString = () => 'Restart'
}

/** Several at once: a checkpoint, and appends beside it. */
class CheckpointBeside implements Command {
  readonly ops: readonly RowOp[]
  constructor(ops: readonly RowOp[]) {
    this.ops = ops
  }
  check = ({ possible: [state] }: Model) => state !== undefined
  async run(model: Model, real: Real): Promise<void> {
    let [state] = model.possible
    const running: Promise<unknown>[] = [real.database.checkpoint()]
    for (const op of this.ops) {
      if (!state) continue
      const entry = { since: state.sid, sid: state.sid + 1, ops: [op] }
      running.push(real.database.append(entry))
      state = appended(state, entry)
    }
    await Promise.all(running)
    model.possible = [state]
  }
  toString = () => 'CheckpointBeside'
}

const ids = ['1', '2', '3', '4', '5']
const target = { t: fc.constantFrom('a', 'b'), id: fc.constantFrom(...ids) }
const payload = fc.record({ n: fc.nat(9) }, { requiredKeys: [] })
const op: fc.Arbitrary<RowOp> = fc.oneof(
  fc.record({ op: fc.constant('i' as const), ...target, p: payload }),
  fc.record({ op: fc.constant('u' as const), ...target, p: payload }),
  fc.record({ op: fc.constant('d' as const), ...target }),
)
const fault = fc.option(
  fc.record({ at: fc.nat(30), kind: fc.constantFrom('throw' as const, 'abort' as const, 'crash' as const) }),
  { nil: undefined, freq: 2 },
)

test('after any appends, snapshots, checkpoints, faults, crashes and restarts, the last durable state is restored', async () => {
  const commands = fc.commands(
    [
      fc.tuple(fault, fc.array(op, { maxLength: 4 })).map(([at, ops]) => new Append(at, ops)),
      fc.tuple(fault, fc.subarray(ids)).map(([at, some]) => new Snapshot(at, some)),
      fault.map((at) => new Checkpoint(at)),
      fc.array(op, { maxLength: 4 }).map((ops) => new CheckpointBeside(ops)),
      fc.constant(new Restart()),
    ],
    { size: 'medium' },
  )
  await fc.assert(
    fc.asyncProperty(commands, async (run) => {
      const setup = async () => {
        const store = memoryStore()
        const faulty = new FaultyStore(store)
        const real: Real = { store, faulty, database: await open(faulty.store) }
        return { model: { possible: [undefined] }, real }
      }
      let last: { model: Model; real: Real } | undefined
      await fc.asyncModelRun(async () => {
        last = await setup()
        return last
      }, run)
      if (last) await restart(last.model, last.real)
    }),
    { numRuns: 100 },
  )
})
