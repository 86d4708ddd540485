import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SyncClient } from '../../src/index.ts'
import type { SyncFrame } from '../../src/protocol/frame.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { mockSyncServer } from '../../src/testing/index.ts'

const { RUNS = '60', SEED, SEED_PATH = '' } = process.env

type Rows = { [id: string]: { readonly [field: string]: unknown } }

/** What a client shows at one call of a listener. */
interface Observation {
  readonly listener: string
  readonly lastSyncId: number
  readonly hasData: boolean
  readonly shown: Rows
  readonly inQuery: number
  readonly states: readonly string[]
  readonly pendingOps: readonly TxOp[]
  readonly pending: number
  readonly rejected: number
}

const id = fc.constantFrom('1', '2', '3')
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('write', 'elsewhere'), id, n: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('delete', 'deleteElsewhere'), id, n: fc.nat(9) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('undo', 'redo', 'cut', 'mend', 'refuse', 'stop', 'start', 'restore'),
      id,
      n: fc.nat(9),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('wait'), id, n: fc.constantFrom(1, 30, 400, 5_000) }) },
)
type Step = { readonly do: string; readonly id: string; readonly n: number }

function apply(rows: Rows, op: TxOp | SyncFrame): Rows {
  const { [op.id]: row, ...rest } = rows
  // An undo changes only what still is as it was.
  if ('was' in op && op.was !== undefined && row?.n !== op.was?.n) return rows
  if (op.op === 'd') return rest
  if (op.op === 'i') {
    const isKept = row && !('sid' in op) && !op.put
    return isKept ? rows : { ...rest, [op.id]: op.p }
  }
  return row ? { ...rest, [op.id]: { ...row, ...op.p } } : rows
}

async function observe(steps: readonly Step[], reacts: boolean) {
  const history: { readonly sid: number; readonly frames: readonly SyncFrame[] }[] = []
  const server = mockSyncServer({
    onCommit: ({ sid, changes }) => {
      history.push({ sid, frames: changes.map(({ frame }) => frame) })
    },
  })
  const device = server.device()
  const client: SyncClient = device.client({ identity: 'ada' })
  const opsOf = new Map<string, readonly TxOp[]>()
  const observations: Observation[] = []
  let statuses = client.status
  let reactions = 3
  const query = client.query('Note', {})
  const look = (listener: string) => {
    const outbox = client.outbox.list()
    const open = outbox.filter(({ state }) => state !== 'rejected')
    observations.push({
      listener,
      lastSyncId: client.lastSyncId,
      hasData: client.status.data.state === 'current' || client.status.data.state === 'stale',
      shown: Object.fromEntries(client.all('Note').map(({ id, ...fields }) => [id, fields])),
      inQuery: query.length,
      states: outbox.map(({ state }) => state),
      pendingOps: open.flatMap((tx) => opsOf.get(tx.id) ?? ops(tx)),
      pending: client.status.writes.pending,
      rejected: client.status.writes.rejected,
    })
    if (!reacts || reactions === 0 || listener === 'reaction') return
    reactions -= 1
    write('reaction', reactions)
  }
  /** The ops of transactions that the test did not write itself: undo and redo. */
  const ops = (tx: ReturnType<SyncClient['mutate']>): readonly TxOp[] =>
    tx.records.map(({ type: t, id, base, mine }) => {
      if (!mine) return { op: 'd', t, id, was: base ?? {} }
      return base ? { op: 'u', t, id, p: mine, was: base } : { op: 'i', t, id, p: mine }
    })
  const write = (id: string, n: number) => {
    const isNew = !client.get('Note', id)
    const tx = client.mutate((m) => (isNew ? m.insert('Note', { id, n }) : m.update('Note', id, { n })))
    opsOf.set(tx.id, [isNew ? { op: 'i', t: 'Note', id, p: { n } } : { op: 'u', t: 'Note', id, p: { n } }])
    tx.subscribe(() => look('transaction'))
  }
  query.subscribe(() => look('query'))
  client.on('change', () => look('change'))
  client.on('status', (status) => {
    expect(status).not.toBe(statuses)
    statuses = status
    look('status')
  })
  client.outbox.subscribe(() => look('outbox'))
  await client.start()
  for (const { do: what, id, n } of steps) {
    if (what === 'write') write(id, n)
    else if (what === 'delete') {
      const tx = client.mutate((m) => m.delete('Note', id))
      opsOf.set(tx.id, [{ op: 'd', t: 'Note', id }])
    } else if (what === 'elsewhere') {
      await server.write([{ op: 'i', t: 'Note', id, p: { n: 10 + n }, put: true }], 'ada')
    } else if (what === 'deleteElsewhere') await server.write([{ op: 'd', t: 'Note', id }])
    else if (what === 'undo') void client.undo().catch(() => {})
    else if (what === 'redo') void client.redo().catch(() => {})
    else if (what === 'cut') device.disconnect()
    else if (what === 'mend') device.reconnect()
    else if (what === 'refuse') server.reject('invalid')
    else if (what === 'stop') void client.stop()
    else if (what === 'start') void client.start()
    else await server.clock.advance(n)
  }
  device.reconnect()
  await client.start()
  await server.clock.advance(120_000)
  await server.close()
  return { observations, history }
}

/** The records at `sid`, with the ops of pending transactions on top. */
function model(
  history: Awaited<ReturnType<typeof observe>>['history'],
  sid: number,
  pending: readonly TxOp[],
) {
  const confirmed = history.flatMap(({ frames }) => frames.filter((frame) => frame.sid <= sid))
  return [...confirmed, ...pending].reduce<Rows>(apply, {})
}

const withoutOwner = (rows: Rows) =>
  Object.fromEntries(Object.entries(rows).map(([id, { userId: _, ...fields }]) => [id, fields]))

test('whenever a listener is called, rows, position, status and outbox agree', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), fc.boolean(), async (steps, reacts) => {
      const { observations, history } = await observe(steps, reacts)
      expect(observations.length).toBeGreaterThan(0)
      for (const seen of observations) {
        const { shown, lastSyncId, pendingOps, states, pending, rejected, inQuery } = seen
        const isRejected = (state: string) => state === 'rejected'
        expect(pending, seen.listener).toBe(states.filter((state) => !isRejected(state)).length)
        expect(rejected, seen.listener).toBe(states.filter(isRejected).length)
        expect(inQuery, seen.listener).toBe(Object.keys(shown).length)
        if (seen.hasData)
          expect(withoutOwner(shown), seen.listener).toEqual(
            withoutOwner(model(history, lastSyncId, pendingOps)),
          )
      }
    }),
    { numRuns: Number(RUNS), ...(SEED && { seed: Number(SEED), path: SEED_PATH }) },
  )
})
