import fs from 'node:fs'
import { join } from 'node:path'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { insert } from '../server/harness.ts'
import { as, txOf } from '../server/log-contract/support.ts'
import { seededRandom } from '../support/virtual.ts'
import { type Flushed, FlushedView, restoreTo } from './flushed-view.ts'

/*
 * A process that writes to a folder, and takes the power from it: `power-cut-writer.ts <folder> <cuts> <writes> <seed>`.
 * It writes in three lives of the database, one write at a time and in groups, and closes it between them. At random
 * moments it keeps what the disk has then. In the end it starts a database on each of these, sends transactions
 * again, and says what became of them, as a {@link CutReport}; `{done}` then.
 */

type Phase = 'opening' | 'open' | 'closing' | 'closed'

export interface CutReport {
  /** How many transactions were answered before the cut. */
  readonly answered: number
  /** The ids of those of them whose records are not there after it. */
  readonly lost: readonly string[]
  /** The ids of the last of them that are not accepted under the same sid when they are sent again. */
  readonly moved: readonly string[]
  /** How many changes there are after that, and how many records, of which each transaction makes one. */
  readonly changes: number
  readonly records: number
  /** In which phase of a life it came, and whether the history has another name after it. */
  readonly phase: Phase
  readonly isRenamed: boolean
  /** Whether the database could be opened at all. */
  readonly isOpened: boolean
}

interface Cut {
  readonly disk: Flushed
  readonly answered: ReadonlyMap<string, number>
  readonly phase: Phase
  readonly history: string
}

const [root = '', cuts = '0', writes = '0', seed = '0'] = process.argv.slice(2)
const random = seededRandom(Number(seed))
const say = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`)
const transactions = Array.from({ length: Number(writes) }, (_, n) =>
  txOf(`t${n}`, [insert(`r${n}`, { text: 'x'.repeat(n % 7 === 0 ? 20_000 : 200) })]),
)
const live = join(root, 'live')
fs.mkdirSync(live)
const answered = new Map<string, number>()
const taken: Cut[] = []
let phase: Phase = 'opening'
let history = ''
let moments = 0

/** The moments of which each may be that of a cut: before each flush, and after each answer. */
function moment(): void {
  moments += 1
  // To make a database takes some 400 flushes, and nobody has been answered then.
  const isDue = random.number() < (history === '' ? 0.002 : 0.04)
  if (!isDue || taken.length === Number(cuts)) return
  const disk = taken.length % 2 === 0 ? view.take() : view.takeWithSome(random)
  taken.push({ disk, answered: new Map(answered), phase, history })
}

const view = new FlushedView(live, moment)
const groups = [1, 1, 1, 5, 1, 2, 20]
const left = [...transactions]
for (let life = 1; life <= 3; life += 1) {
  phase = 'opening'
  const log = await openSqlLog(live)
  history = (await log.position()).history
  phase = 'open'
  const until = Number(writes) * (1 - life / 3)
  for (let turn = 0; left.length > until; turn += 1) {
    const send = async (transaction: (typeof transactions)[number]) => {
      const verdict = await log.transact(transaction, as('ann'))
      if (!('sid' in verdict)) throw new Error(`It was refused: ${verdict.error.message}`)
      answered.set(transaction.id, verdict.sid)
      moment()
    }
    await Promise.all(left.splice(0, groups[turn % groups.length] ?? 1).map(send))
  }
  phase = 'closing'
  await log.close()
  phase = 'closed'
}
taken.push({ disk: view.take(), answered, phase, history })

for (const [index, cut] of taken.entries()) {
  const folder = join(root, `cut-${index}`)
  restoreTo(folder, live, cut.disk)
  // A machine that had no power starts under another name.
  if (fs.existsSync(join(folder, 'boot'))) fs.writeFileSync(join(folder, 'boot'), 'before')
  say(await reportOf(cut, folder).catch(() => destroyed(cut)))
  fs.rmSync(folder, { recursive: true })
}
say({ done: true, moments })

/** A database that cannot be opened after the cut has lost all. */
function destroyed({ answered, phase }: Cut): CutReport {
  const lost = [...answered.keys()]
  return {
    answered: lost.length,
    lost,
    moved: lost,
    changes: 0,
    records: 0,
    phase,
    isRenamed: false,
    isOpened: false,
  }
}

async function reportOf(cut: Cut, folder: string): Promise<CutReport> {
  const log = await openSqlLog(folder)
  const after = await log.position()
  const had = new Set<string>()
  for await (const batch of (await log.snapshot(['ann'])).batches) {
    for (const { id } of JSON.parse(`[${batch}]`)) had.add(`t${id.slice(1)}`)
  }
  const moved: string[] = []
  // Groups are at most 20 long: the next ones may or may not have been committed.
  for (const transaction of transactions.slice(Math.max(0, cut.answered.size - 10), cut.answered.size + 25)) {
    const verdict = await log.transact(transaction, as('ann'))
    const sid = cut.answered.get(transaction.id)
    if (!('sid' in verdict) || (sid !== undefined && sid !== verdict.sid)) moved.push(transaction.id)
  }
  const { count } = await log.snapshot(['ann'])
  const { head } = await log.position()
  await log.close()
  return {
    answered: cut.answered.size,
    lost: [...cut.answered.keys()].filter((id) => !had.has(id)),
    moved,
    changes: head,
    records: count,
    phase: cut.phase,
    isOpened: true,
    isRenamed: after.history !== cut.history,
  }
}
