import { expect, test } from 'vitest'
import { MemoryLog } from '../../src/server/index.ts'
import { seededRandom, settle, VirtualClock } from '../support/virtual.ts'
import { make, tx, txServiceOf } from './tx-support.ts'

/** A service whose log decides nothing until `go` is called. */
function heldService() {
  const log = new MemoryLog({ clock: new VirtualClock(), random: seededRandom(1) })
  const transact = log.transact.bind(log)
  const held: (() => void)[] = []
  log.transact = async (...args) => {
    await new Promise<void>((resolve) => held.push(resolve))
    return transact(...args)
  }
  const go = async () => {
    for (await settle(); held.length > 0; await settle()) for (const resolve of held.splice(0)) resolve()
  }
  const { post } = txServiceOf({ database: log })
  const many = (id: string) => [
    tx(
      id,
      Array.from({ length: 1_000 }, (_, n) => make(`${id}-${n}`)),
    ),
  ]
  const send = (id: string, user: string, txs: readonly object[] = many(id)) =>
    post(JSON.stringify({ txs }), { user })
  return { send, go }
}

test('a user whose changes wait for the log gets 429 for more, and others do not', async () => {
  const { send, go } = heldService()
  const waiting = Array.from({ length: 10 }, (_, n) => send(`a${n}`, 'ann'))
  await settle()
  const refused = await send('more', 'ann', [tx('more', [make('more')])])
  expect(refused.status).toBe(429)
  expect(refused.headers.get('Retry-After')).toBe('1')
  expect(await refused.json()).toMatchObject({ error: { code: 'too_many_requests' } })
  const others = send('b', 'bob')
  await go()
  expect((await others).status).toBe(200)
  for (const { status } of await Promise.all(waiting)) expect(status).toBe(200)
  const later = send('later', 'ann')
  await go()
  expect((await later).status).toBe(200)
})

test('a user without waiting changes may send any number of ops', async () => {
  const { send, go } = heldService()
  const txs = Array.from({ length: 11 }, (_, t) =>
    tx(
      `t${t}`,
      Array.from({ length: 1_000 }, (_, n) => make(`${t}-${n}`)),
    ),
  )
  const sent = send('all', 'ann', txs)
  await go()
  expect((await sent).status).toBe(200)
})
