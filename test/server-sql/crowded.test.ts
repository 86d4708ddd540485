import { expect, test } from 'vitest'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { removeOwner } from '../../src/server/remove-owner.ts'
import { insert, remove, update } from '../server/harness.ts'
import { as, txOf } from '../server/log-contract/support.ts'
import { asService } from './judge.ts'

const ids = Array.from({ length: 18 }, (_, n) => String(n + 1))

/** A log with long records that do not fit into one group, and what is sent at once decided in groups. */
async function crowded() {
  const log = await openSqlLog('memory:')
  for (const id of ids) await log.write([insert(id, { text: 'x'.repeat(1_000_000) })], asService)
  const send = (name: string, ops: Parameters<typeof txOf>[1], owner = 'ann') =>
    log.transact({ ...txOf(name, ops), caller: owner, owners: [owner] }, as(owner))
  const updates = () =>
    [ids.slice(0, 9), ids.slice(9)].map((part, n) =>
      send(
        `u${n}`,
        part.map((id) => update(id, { n: 1 })),
      ),
    )
  // Occupies the log, so that the others form a group.
  const first = send('first', [insert('other')])
  return { log, send, updates, first }
}

test('writes of long records are all decided, in any order', async () => {
  const { log, send, first } = await crowded()
  const all = ids.toReversed().map((id) => send(`t${id}`, [update(id, { n: 1 })]))
  expect(await Promise.all([first, ...all])).toHaveLength(19)
  await log.close()
})

test('removals of long records are accepted, even beside a write that needs the records', async () => {
  const { log, send, updates, first } = await crowded()
  const removed = send(
    'removed',
    ids.map((id) => remove(id)),
  )
  await Promise.all([first, ...updates()])
  expect(await removed).toMatchObject({ sid: expect.any(Number) })
  await log.close()
})

test('invariant 47: a write to long records of others gets the same verdict beside a write of their owner', async () => {
  const { log, send, updates, first } = await crowded()
  const foreign = send(
    'foreign',
    ids.map((id) => update(id, { n: 1 })),
    'bob',
  )
  await Promise.all([first, ...updates()])
  expect(await foreign).toMatchObject({ error: { code: 'not_found' } })
  await log.close()
})

test('a delta can still be read while its owner is removed', async () => {
  const log = await openSqlLog('memory:')
  for (let n = 1; n <= 60; n += 1) {
    await log.write([insert(`${n}`, { text: 'x'.repeat(20_000) }), update(`${n}`, { n })], asService)
  }
  const { batches } = await log.delta(['ann'], 0)
  const texts: string[] = []
  for await (const batch of batches) {
    texts.push(batch)
    if (texts.length === 1) await removeOwner(log, { owner: 'ann' })
  }
  expect(JSON.parse(`[${texts.join(',')}]`)).toHaveLength(120)
  await log.close()
})
