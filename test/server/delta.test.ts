import { expect, test } from 'vitest'
import { readDelta } from '../../src/protocol/delta.ts'
import { insert, remove, serviceOf, update } from './harness.ts'

test('a delta contains the changes of its caller after `since`, in order, each with its sid and time', async () => {
  const { service, clock, json } = serviceOf()
  await service.write([insert('1')])
  await service.write([insert('2', { n: 1 }), insert('3', {}, 'bob'), update('1', { n: 2 }), remove('2')])
  const at = clock.now()
  const delta = await json('delta?since=1')
  expect(readDelta(delta).broken).toEqual([])
  expect(delta).toEqual({
    sid: 5,
    epoch: expect.any(String),
    caller: expect.any(String),
    frames: [
      { sid: 4, t: 'Todo', id: '1', op: 'u', p: { n: 2 }, at },
      { sid: 5, t: 'Todo', id: '2', op: 'd', at },
    ],
  })
})

test('a delta without changes of its caller contains the head and no frames', async () => {
  const { service, json } = serviceOf()
  await service.write([insert('1', {}, 'bob')])
  expect(await json('delta?since=0')).toMatchObject({ sid: 1, frames: [] })
  expect(await json('delta?since=1')).toMatchObject({ sid: 1, frames: [] })
})

test('the response to a position above the head contains the head', async () => {
  const { service, json } = serviceOf()
  await service.write([insert('1')])
  expect(await json('delta?since=900')).toMatchObject({ sid: 1, frames: [] })
})

test.each([
  '',
  '?since=',
  '?since=-1',
  '?since=1.5',
  '?since=1e3',
  '?since=0x1',
  '?since=%201',
  '?since=9007199254740993',
])('an invalid position is refused: %s', async (query) => {
  const { ask } = serviceOf()
  const response = await ask(`delta${query}`)
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error: { code: 'bad_since', message: expect.any(String) } })
})

test('a position below the horizon is answered with 410', async () => {
  const { service, log, ask, json } = serviceOf()
  await service.write([insert('1'), insert('2'), insert('3')])
  await log.trim(2)
  expect((await ask('delta?since=1')).status).toBe(410)
  expect((await json('delta?since=1')).error.code).toBe('below_horizon')
  expect((await json('delta?since=2')).frames).toMatchObject([{ sid: 3 }])
  expect((await json('bootstrap')).rows).toHaveLength(3)
})
