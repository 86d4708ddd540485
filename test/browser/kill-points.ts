import type { JournalEntry } from '../../src/persistence/stored-data.ts'
import type { Database } from '../support/database.ts'
import { appended, row, type State, snapshotOf, storeSnapshot } from '../support/store-state.ts'
import type { Step } from '../support/store-steps.ts'

/** A moment in a change of the database at which the browser is killed. */
export interface KillPoint {
  readonly name: string
  /** What is to be found afterwards, if it had come to its end. */
  next(state: State): State
  change(database: Database, state: State): Promise<unknown>
  /** Whether this is the moment, after the steps `before` of the change. */
  isAt(step: Step, before: readonly Step[]): boolean
  /** Which must be found: what was before, what comes after, or either, whole. */
  readonly found: 'old' | 'new' | 'either'
}

const rowsAPage = 300

/** What is there to begin with: three pages of about 150 kB, which an engine keeps in files of their own. */
export const firstState: State = snapshotOf(100, rowsOf(100), 'first')

function rowsOf(sid: number) {
  return Array.from({ length: 3 * rowsAPage }, (_, n) =>
    row(`${n}`, { from: sid, text: `${n} `.repeat(100) }),
  )
}

function snapshotPoint(name: string, found: KillPoint['found'], isAt: KillPoint['isAt']): KillPoint {
  const next = ({ sid }: State) => snapshotOf(sid + 10, rowsOf(sid + 10), `after ${sid}`)
  return {
    name,
    found,
    isAt,
    next,
    change: (database, state) => storeSnapshot(database, next(state), rowsAPage),
  }
}

function appendPoint(name: string, found: KillPoint['found'], isAt: KillPoint['isAt']): KillPoint {
  const entry = ({ sid }: State): JournalEntry => {
    const p = { from: sid, text: 'x'.repeat(50_000) }
    const ops = ['1', '2', `new ${sid}`].map((id) => ({ op: 'i', t: 'Issue', id, p }) as const)
    return { since: sid, sid: sid + 1, ops }
  }
  return {
    name,
    found,
    isAt,
    next: (state) => appended(state, entry(state)),
    change: (database, state) => database.append(entry(state)),
  }
}

function checkpointPoint(name: string, isAt: KillPoint['isAt']): KillPoint {
  // What it changes cannot be seen, so what is found is what was there.
  return { name, found: 'old', isAt, next: (state) => state, change: (database) => database.checkpoint() }
}

/** In an order in which a checkpoint finds a journal. Of a snapshot, the first three transactions store a page each. */
export const killPoints: readonly KillPoint[] = [
  snapshotPoint(
    'in the middle of a page',
    'old',
    ({ name }, before) => name === 'end' && ended(before) === 1,
  ),
  snapshotPoint('before the switch', 'old', ({ name }, before) => name === 'begin' && ended(before) === 3),
  snapshotPoint('during the switch', 'either', ({ name }, before) => name === 'end' && switched(before)),
  snapshotPoint('after the switch', 'new', ({ name }, before) => name === 'complete' && switched(before)),
  appendPoint('before a journal record is complete', 'either', ({ name }) => name === 'end'),
  appendPoint('after a journal record is complete', 'new', ({ name }) => name === 'complete'),
  checkpointPoint(
    'between two pages of a checkpoint',
    ({ name, mode }) => name === 'complete' && mode === 'write',
  ),
  checkpointPoint(
    'during the switch of a checkpoint',
    ({ name }, before) => name === 'end' && switched(before),
  ),
]

/** How many transactions have come to their end. */
function ended(steps: readonly Step[]): number {
  return steps.filter(({ name }) => name === 'end').length
}

/** Whether another manifest was put, complete or not. */
function switched(steps: readonly Step[]): boolean {
  return steps.some(({ name, key }) => name === 'put' && key === 'manifest')
}
