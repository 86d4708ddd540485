import { expect, test } from 'vitest'
import { LazyTypes } from '../../src/engine/lazy-types.ts'
import type { Database } from '../../src/persistence/database.ts'
import { noDatabase } from '../../src/persistence/none.ts'
import type { RowOp } from '../../src/protocol/fold.ts'
import type { Payload } from '../../src/protocol/json.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import { Replica } from '../../src/records/replica.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const t = 'Issue'
const stored: WireRow = { t, id: '1', p: { n: 1 } }

/** A lazy type, of which one record is stored; what happens to it is not. And what comes of it once it is loaded. */
function setUp() {
  const clock = new VirtualClock()
  const replica = new Replica({ clock, onListenerError: () => {} })
  replica.swap(replica.stage(new Set([t])))
  const joined: { readonly row: WireRow | undefined; readonly rest: readonly RowOp[] }[] = []
  const disk = { sid: 1, rows: [stored] }
  const database: Database = {
    ...noDatabase,
    async read(sink) {
      sink.rows(disk.rows)
      return { sid: disk.sid, at: 0, repair: { owed: false, at: undefined } }
    },
  }
  /** Another client has stored `rows` up to `sid`. */
  const store = (sid: number, rows: WireRow[]) => Object.assign(disk, { sid, rows })
  const lazy = new LazyTypes({
    types: [t],
    replica,
    database: () => database,
    listener: {
      join: (staging, types, rest) => {
        joined.push({ row: staging.rows.of(t).get('1'), rest })
        replica.join(staging, types, () => [])
      },
      lost: (error) => expect.unreachable(error.message),
    },
  })
  lazy.replaced({ sid: 1, epoch: undefined })
  /** Runs `work` while what is staged from now on is prepared. */
  const whilePreparing = (work: () => void) => {
    const stage = replica.stage.bind(replica)
    replica.stage = (unloaded) => {
      replica.stage = stage
      const staging = stage(unloaded)
      const prepare = staging.prepare.bind(staging)
      staging.prepare = () => {
        work()
        return prepare()
      }
      return staging
    }
  }
  return { clock, lazy, joined, store, whilePreparing }
}

const put = (n: number): RowOp => ({ op: 'i', t, id: '1', p: { n } })
const update = (p: Payload): RowOp => ({ op: 'u', t, id: '1', p })
const removal: RowOp = { op: 'd', t, id: '1' }

test('what happened to a record is kept until it is shown, also where its type was loaded in vain', async () => {
  const { clock, lazy, joined, whilePreparing } = setUp()
  lazy.keep([put(2)], 2)
  // A snapshot begins to be stored meanwhile.
  whilePreparing(() => lazy.pause())
  lazy.use(t)
  await clock.advance(1)
  expect(joined).toEqual([])

  // It could not be stored.
  lazy.resume()
  await clock.advance(1)
  expect(joined).toEqual([{ row: { ...stored, p: { n: 2 } }, rest: [] }])
})

test('what happens to a record while it is loaded is laid over what is loaded', async () => {
  const { clock, lazy, joined, whilePreparing } = setUp()
  lazy.keep([put(2)], 2)
  whilePreparing(() => lazy.keep([update({ m: 3 })], 3))
  lazy.use(t)
  await clock.advance(1)
  expect(joined).toEqual([{ row: { ...stored, p: { n: 2 } }, rest: [{ ...put(2), p: { n: 2, m: 3 } }] }])
})

test.each<
  readonly [string, readonly RowOp[], { readonly row: WireRow | undefined; readonly rest: readonly RowOp[] }]
>([
  ['updates', [update({ n: 2 }), update({ m: 3 })], { row: { ...stored, p: { n: 2, m: 3 } }, rest: [] }],
  ['a removal', [update({ n: 2 }), removal], { row: undefined, rest: [] }],
  [
    'a removal and updates, which are for no record',
    [removal, update({ n: 2 }), update({ m: 3 })],
    { row: undefined, rest: [update({ n: 2, m: 3 })] },
  ],
  [
    'a removal, an update and a record in its place',
    [removal, update({ n: 2 }), put(4), update({ m: 3 })],
    { row: { ...stored, p: { n: 4, m: 3 } }, rest: [] },
  ],
])('what happened to a record is applied to what is stored: %s', async (_, ops, expected) => {
  const { clock, lazy, joined } = setUp()
  for (const [at, op] of ops.entries()) lazy.keep([op], at + 2)
  lazy.use(t)
  await clock.advance(1)
  expect(joined).toEqual([expected])
})

test('what another client has stored beyond what was kept stands: nothing kept is laid over it', async () => {
  const { clock, lazy, joined, store } = setUp()
  lazy.keep([update({ n: 2 })], 2)
  store(3, [])
  lazy.use(t)
  await clock.advance(1)
  expect(joined).toEqual([{ row: undefined, rest: [] }])
})

test('nor what comes while it is loaded, up to where the other client was', async () => {
  const { clock, lazy, joined, store, whilePreparing } = setUp()
  store(3, [])
  whilePreparing(() => lazy.keep([update({ n: 2 })], 2))
  lazy.use(t)
  await clock.advance(1)
  expect(joined).toEqual([{ row: undefined, rest: [] }])
})
