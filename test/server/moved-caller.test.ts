import { describe, expect, test } from 'vitest'
import { memoryStore, SyncClient } from '../../src/index.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { VirtualNetwork, virtualEnvironment } from '../support/virtual.ts'
import { serviceOf } from './harness.ts'

test('invariant 62: a user who moves to another organization keeps no row of the old one, and gets all of the new one', async () => {
  let organizationId = 'acme'
  const { service, clock } = serviceOf({
    ownerField: 'organizationId',
    authenticate: async () => ({ userId: 'ann', organizationId }),
  })
  await service.ready()
  const network = new VirtualNetwork({ clock, server: service })
  const environment = virtualEnvironment({ seed: 1, clock, network })
  const store = memoryStore()
  const open = async () => {
    const client = new SyncClient({
      baseUrl: 'https://sync.test/sync/v1',
      token: 'token-of-ann',
      identity: 'ann',
      store,
      environment: environment,
    })
    await client.start()
    await clock.advance(1_000)
    return client
  }
  const idsOf = (client: SyncClient) => client.all('Todo').map(({ id }) => id)
  const todo = (id: string, organizationId: string): TxOp => ({
    op: 'i',
    t: 'Todo',
    id,
    p: { organizationId },
  })

  await service.write([todo('z1', 'zeta'), todo('a1', 'acme'), todo('a2', 'acme'), todo('z2', 'zeta')])
  const client = await open()
  expect(idsOf(client)).toEqual(['a1', 'a2'])
  organizationId = 'zeta'
  service.revoke(({ userId }) => userId === 'ann')
  await service.write([todo('a3', 'acme'), todo('z3', 'zeta')])
  await clock.advance(10_000)
  expect(idsOf(client)).toEqual(['z1', 'z2', 'z3'])

  await clock.until(client.close())
  network.cut()
  expect(idsOf(await open())).toEqual(['z1', 'z2', 'z3'])
})

describe('a user whose teams change', () => {
  const task = (id: string, owner: string): TxOp => ({ op: 'i', t: 'Todo', id, p: { owner } })

  /** A client of ann's, whose owners are those of `state`. */
  async function setUp() {
    const state = { owners: ['user:ann', 'team:a'] }
    const { service, clock } = serviceOf({
      ownerField: 'owner',
      authenticate: async () => ({ userId: 'ann', owners: state.owners }),
    })
    await service.ready()
    const network = new VirtualNetwork({ clock, server: service })
    const environment = virtualEnvironment({ seed: 1, clock, network })
    const store = memoryStore()
    const open = async () => {
      const client = new SyncClient({
        baseUrl: 'https://sync.test/sync/v1',
        token: 'token-of-ann',
        identity: 'ann',
        store,
        environment,
      })
      await client.start()
      await clock.advance(1_000)
      return client
    }
    await service.write([task('own', 'user:ann'), task('a', 'team:a'), task('b', 'team:b')])
    return { state, service, clock, network, open }
  }
  const idsOf = (client: SyncClient) =>
    client
      .all('Todo')
      .map(({ id }) => id)
      .sort()

  test('invariant 77: keeps no record of a team after leaving it for another, not on disk either', async () => {
    const { state, service, clock, network, open } = await setUp()
    const client = await open()
    expect(idsOf(client)).toEqual(['a', 'own'])
    state.owners = ['team:b', 'user:ann']
    service.revoke(({ userId }) => userId === 'ann')
    await service.write([task('a2', 'team:a'), task('b2', 'team:b')])
    await clock.advance(10_000)
    expect(idsOf(client)).toEqual(['b', 'b2', 'own'])
    await clock.until(client.close())
    network.cut()
    expect(idsOf(await open())).toEqual(['b', 'b2', 'own'])
  })

  test('invariant 77: is noticed by an open socket within `recheckMs`', async () => {
    const { state, clock, open } = await setUp()
    const client = await open()
    state.owners = ['user:ann']
    await clock.advance(70_000)
    expect(idsOf(client)).toEqual(['own'])
    state.owners = ['user:ann', 'team:b']
    await clock.advance(70_000)
    expect(idsOf(client)).toEqual(['b', 'own'])
    state.owners = ['team:b', 'user:ann']
    await clock.advance(70_000)
    expect(idsOf(client)).toEqual(['b', 'own'])
    await clock.until(client.close())
  })

  test('invariant 77: keeps no record of a team that was left offline, after the next sync', async () => {
    const { state, clock, open } = await setUp()
    await clock.until((await open()).close())
    state.owners = ['team:b']
    const client = await open()
    await clock.advance(1_000)
    expect(idsOf(client)).toEqual(['b'])
    await clock.until(client.close())
  })
})
