import { expect, test } from 'vitest'
import { anyOf, type Caller, createSyncService, MemoryLog } from '../../src/server/index.ts'
import { kinds } from '../support/auth-kinds.ts'
import { seededRandom, VirtualClock } from '../support/virtual.ts'
import { authenticate, FakeSocket, requestTo, serviceOf } from './harness.ts'

type Service = Pick<ReturnType<typeof serviceOf>, 'json' | 'connect'>

const transaction = {
  id: '01890a5d-ac96-774b-bcce-b302099a8057',
  since: 0,
  ops: [{ op: 'd', t: 'Todo', id: '1' }],
}
const sent = { method: 'POST', body: JSON.stringify({ txs: [transaction] }) }

/** The caller in each of the four answers to `user`. */
async function callersOf({ json, connect }: Service, user: string): Promise<string[]> {
  const [bootstrap, delta, tx] = [
    await json('bootstrap', { user }),
    await json('delta?since=0', { user }),
    await json('tx', { user, ...sent }),
  ]
  const { texts } = await connect(user)
  return [bootstrap, delta, tx, JSON.parse(texts[0] ?? '{}').hello].map(({ caller }) => caller)
}

test('invariant 44: bootstrap, delta, tx and hello name the same caller for a user, and another for other users', async () => {
  const scene = serviceOf({ ownerField: 'organizationId' })
  const [ann, ...others] = await callersOf(scene, 'ann')
  expect(ann).toMatch(/^[\w-]{43}$/)
  expect(others).toEqual([ann, ann, ann])
  const bobs = new Set(await callersOf(scene, 'bob'))
  expect(bobs.size).toBe(1)
  expect(bobs).not.toContain(ann)
})

test('invariant 44: the caller depends on the user alone, not on history, organization or process', async () => {
  const [caller] = await callersOf(serviceOf(), 'ann')
  const clock = new VirtualClock()
  const moved: Caller = { userId: 'ann', organizationId: 'zeta', expiresAt: clock.now() + 60_000 }
  const elsewhere = serviceOf({
    database: new MemoryLog({ clock, random: seededRandom(2) }),
    ownerField: 'organizationId',
    clock,
    authenticate: async (request) => ((await authenticate(request)) ? moved : null),
  })
  expect(await callersOf(elsewhere, 'ann')).toEqual([caller, caller, caller, caller])
  const epochs = [await serviceOf().json('bootstrap'), await elsewhere.json('bootstrap')].map(
    ({ epoch }) => epoch,
  )
  expect(new Set(epochs).size).toBe(2)
})

test('the caller does not reveal the id of the user', async () => {
  const [caller = ''] = await callersOf(serviceOf(), 'ann')
  expect(caller).not.toContain('ann')
  expect(Buffer.from(caller, 'base64url').toString()).not.toContain('ann')
})

test.each(kinds)('with %s, a user is the same caller as with other credentials', async (_, make) => {
  const clock = new VirtualClock()
  const kind = await make(clock)
  const service = createSyncService({
    database: 'memory:',
    authenticate: anyOf(kind.authenticate, authenticate),
    ownerField: 'userId',
    clock,
  })
  const value = kind.header === 'authorization' ? `Bearer ${kind.good}` : kind.good
  const asking = (path: string, init: RequestInit = {}) =>
    new Request(`https://sync.test/sync/v1/${path}`, { ...init, headers: { [kind.header]: value } })
  const bodies = [
    await service.fetch(asking('bootstrap')),
    await service.fetch(asking('delta?since=0')),
    await service.fetch(asking('tx', sent)),
    await service.fetch(requestTo('bootstrap', 'ann')),
  ].map((response) => response.json())
  const socket = new FakeSocket()
  await service.connect(socket, asking('ws'))
  await clock.advance(0)
  const { hello } = JSON.parse(socket.texts[0] ?? '{}')
  const callers = [...(await Promise.all(bodies)), hello].map(({ caller }) => caller)
  expect(new Set(callers).size).toBe(1)
  expect(callers[0]).toMatch(/^[\w-]{43}$/)
  await service.close()
})
