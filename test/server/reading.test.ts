import { expect, test } from 'vitest'
import { MemoryLog } from '../../src/server/index.ts'
import { seededRandom, VirtualClock } from '../support/virtual.ts'
import { insert, serviceOf, update } from './harness.ts'
import { make, tx, txServiceOf } from './tx-support.ts'

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

/** A service with 2 500 records of ann and one of bob. */
async function filled() {
  const made = serviceOf()
  const many = Array.from({ length: 2_500 }, (_, n) => insert(String(n).padStart(4, '0'), { n }))
  await made.service.write([...many, insert('x', { n: -1 }, 'bob')])
  return made
}

test('the service reads a record with its id, or undefined', async () => {
  const { service } = serviceOf()
  await service.write([insert('1', { title: 'Mend it' })])
  expect(await service.read('Todo', '1')).toEqual({ id: '1', userId: 'ann', title: 'Mend it' })
  expect(await service.read('Todo', '2')).toBeUndefined()
  expect(await service.read('Todo', '')).toBeUndefined()
})

test('a query returns all records of a type in the order of their ids', async () => {
  const { service } = await filled()
  const records = await all(service.query('Todo'))
  expect(records).toHaveLength(2_501)
  expect(records.map(({ id }) => id)).toEqual(records.map(({ id }) => id).toSorted())
  expect(await all(service.query('Note'))).toEqual([])
})

test('a query accepts an owner, conditions, a limit and an id to start after', async () => {
  const { service } = await filled()
  const idsOf = async (...args: Parameters<typeof service.query>) =>
    (await all(service.query(...args))).map(({ id }) => id)
  expect(await idsOf('Todo', { owner: 'bob' })).toEqual(['x'])
  expect(await idsOf('Todo', { where: { n: { gte: 2_498 } } })).toEqual(['2498', '2499'])
  expect(await idsOf('Todo', { where: { n: { gte: 10 } }, after: '0010', limit: 2 })).toEqual([
    '0011',
    '0012',
  ])
  expect(await idsOf('Todo', { limit: 0 })).toEqual([])
})

test('a loop over a query may end early, and may write', async () => {
  const { service } = await filled()
  for await (const { id } of service.query('Todo', { where: { n: { lt: 3 } } })) {
    await service.write([update(id, { n: 9_999 })])
    if (id === '0001') break
  }
  expect((await all(service.query('Todo', { where: { n: 9_999 } }))).map(({ id }) => id)).toEqual([
    '0000',
    '0001',
  ])
})

test.each([
  [{ limit: -1 }, '`limit` must be a whole number of 0 or more.'],
  [{ limits: 1 }, '`limits` is not an option'],
  [{ where: { n: { above: 1 } } }, '`where.n` has no operator `above`'],
])('a wrong query is refused at once: %o', (query, message) => {
  const { service } = serviceOf()
  expect(() => service.query('Todo', query as object)).toThrow(message)
})

test('the service lists the owners that have records', async () => {
  const { service } = await filled()
  expect(await all(service.owners())).toEqual(['ann', 'bob'])
})

test('removing a user removes the records in batches, from clients, history and results', async () => {
  const { service, json, connect } = await filled()
  const socket = await connect()
  expect(await service.remove({ owner: 'ann' })).toEqual({ records: 2_500 })
  expect(await all(service.owners())).toEqual(['bob'])
  expect((await json('bootstrap')).rows).toEqual([])
  const { frames } = await json('delta?since=0')
  expect(new Set(frames.map(({ op }) => op))).toEqual(new Set(['d']))
  expect(socket.texts.join()).toContain('"op":"d"')
  expect(await service.remove({ owner: 'ann' })).toEqual({ records: 0 })
})

test('a removal that failed continues when it is called again', async () => {
  const log = new MemoryLog({ clock: new VirtualClock(), random: seededRandom(1) })
  const { service } = serviceOf({ database: log })
  await service.write(Array.from({ length: 1_500 }, (_, n) => insert(String(n), { n })))
  const write = log.write.bind(log)
  let calls = 0
  log.write = (...args) => {
    calls += 1
    return calls === 2 ? Promise.reject(new Error('The disk is full.')) : write(...args)
  }
  await expect(service.remove({ owner: 'ann' })).rejects.toThrow('The disk is full.')
  expect(await service.remove({ owner: 'ann' })).toEqual({ records: 500 })
  expect(await all(service.owners())).toEqual([])
})

test('a removal forgets the results of the user’s transactions, and not those of others', async () => {
  const { service, send } = txServiceOf({
    authorize: () => ({ message: 'No.', details: { said: 'private' } }),
  })
  const sent = [tx('a', [make('1')])]
  const first = await send(sent)
  await send(sent, 'bob')
  await service.remove({ owner: 'bob' })
  expect(await send(sent)).toEqual(first)
})

test('a removal without an owner is refused', async () => {
  const { service } = serviceOf()
  await expect(service.remove({ owner: '' })).rejects.toThrow('`owner` must be a name.')
  await expect(service.remove({} as { owner: string })).rejects.toThrow('`owner` must be a name.')
})
