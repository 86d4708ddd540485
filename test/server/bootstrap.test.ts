import { expect, test } from 'vitest'
import type { WireRow } from '../../src/protocol/row.ts'
import { bootstrapResultSchema } from '../../src/protocol/schema/bootstrap.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { insert, remove, serviceOf, update } from './harness.ts'

test('a snapshot contains the records of its caller with their versions, after their number', async () => {
  const { service, ask } = serviceOf()
  await service.write([insert('1', { title: 'é' }), insert('2'), insert('3', {}, 'bob')])
  await service.write([update('1', { done: true }), remove('2')])
  const text = await (await ask('bootstrap')).text()
  const p = { userId: 'ann', title: 'é', done: true }
  expect(JSON.parse(text)).toEqual({
    sid: 5,
    epoch: expect.any(String),
    caller: expect.any(String),
    count: 1,
    lines: true,
    rows: [{ t: 'Todo', id: '1', v: 4, p }],
  })
  expect(Object.keys(JSON.parse(text))).toEqual(['sid', 'epoch', 'caller', 'count', 'lines', 'rows'])
  expect(bootstrapResultSchema.parse(JSON.parse(text))).toEqual(JSON.parse(text))
})

test('a snapshot without records is complete', async () => {
  const { json } = serviceOf()
  expect(await json('bootstrap')).toEqual({
    sid: 0,
    epoch: expect.any(String),
    caller: expect.any(String),
    count: 0,
    lines: true,
    rows: [],
  })
})

test('POST gets the same response as GET', async () => {
  const { service, json } = serviceOf()
  await service.write([insert('1')])
  expect(await json('bootstrap', { method: 'POST', body: '{}' })).toEqual(await json('bootstrap'))
})

test('a large snapshot is sent in several pieces', async () => {
  const { service, ask } = serviceOf()
  await service.write(Array.from({ length: 2_500 }, (_, index) => insert(String(index), { text: 'a\nb' })))
  const response = await ask('bootstrap')
  let text = ''
  let chunks = 0
  for await (const chunk of response.body ?? []) {
    chunks += 1
    text += Buffer.from(chunk).toString()
  }
  expect(chunks).toBeGreaterThan(2)
  const { rows } = JSON.parse(text)
  expect(rows).toHaveLength(2_500)
  const written = rows.map((row: WireRow) => `${JSON.stringify(row)}\n`)
  expect(text.endsWith(`"rows":[${written.join(',')}]}`)).toBe(true)
})

test('invariant 14: a snapshot or delta does not contain later writes, however slowly it is read', async () => {
  const { service, log, ask } = serviceOf()
  const ids = Array.from({ length: 3_000 }, (_, index) => String(index))
  await service.write(ids.map((id) => insert(id, { n: 0 })))
  const read = async (path: string, list: 'rows' | 'frames', ops: readonly TxOp[]) => {
    const { head } = await log.position()
    const reader = (await ask(path)).body?.getReader()
    let text = ''
    for (let chunk = await reader?.read(); !chunk?.done; chunk = await reader?.read()) {
      text += Buffer.from(chunk?.value ?? []).toString()
      await service.write(ops)
      await log.trim(head)
    }
    const answer = JSON.parse(text)
    expect(answer.sid).toBe(head)
    expect(new Set(answer[list].map((item: { p: { n: number } }) => item.p.n))).toEqual(new Set([0]))
    return answer
  }
  const delta = await read('delta?since=0', 'frames', [update('2999', { n: 1 })])
  expect(delta.frames).toHaveLength(3_000)
  await service.write([update('2999', { n: 0 })])
  const snapshot = await read('bootstrap', 'rows', [
    update('2999', { n: 1 }),
    insert('late', { n: 2 }),
    remove('late'),
  ])
  expect(snapshot).toMatchObject({ count: 3_000, rows: { length: 3_000 } })
})

test('each owner has another epoch in each history', async () => {
  const { json } = serviceOf()
  const mine = (await json('bootstrap')).epoch
  expect((await json('delta?since=0')).epoch).toBe(mine)
  expect((await json('bootstrap', { user: 'bob' })).epoch).not.toBe(mine)
  expect((await serviceOf({ ownerField: 'organizationId' }).json('bootstrap')).epoch).not.toBe(mine)
  const byOrganization = serviceOf({ ownerField: 'organizationId' })
  const epochs = ['ann', 'bob', 'cid'].map(
    async (user) => (await byOrganization.json('bootstrap', { user })).epoch,
  )
  const [ann, bob, cid] = await Promise.all(epochs)
  expect([bob === ann, cid === ann]).toEqual([true, false])
  const another = serviceOf({
    database: 'memory:',
    random: { number: () => 0, bytes: (n) => new Uint8Array(n) },
  })
  expect((await another.json('bootstrap')).epoch).not.toBe(mine)
})
