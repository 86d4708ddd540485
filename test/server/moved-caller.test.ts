import { expect, test } from 'vitest'
import { memoryStore, SyncClient } from '../../src/index.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { virtualEnvironment } from '../support/virtual-environment.ts'
import { VirtualNetwork } from '../support/virtual-network.ts'
import { serviceOf } from './harness.ts'

test('invariant 62: who moves to another organization keeps no row of the old one, and gets all of the new one', async () => {
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
