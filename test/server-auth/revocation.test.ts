import { expect, test } from 'vitest'
import {
  anyOf,
  apiKeyAuthentication,
  type Caller,
  cached,
  memoryKeyStore,
  memorySessionStore,
  sessionAuthentication,
} from '../../src/server/index.ts'
import { FakeSocket, serviceOf } from '../server/harness.ts'
import { VirtualClock } from '../support/virtual.ts'

/** A service that lets in sessions and keys, and a way to end the right of those whom `match` names. */
function setUp() {
  const clock = new VirtualClock()
  const sessions = memorySessionStore()
  const keys = memoryKeyStore()
  const authenticate = cached(
    anyOf(sessionAuthentication({ store: sessions, clock }), apiKeyAuthentication({ store: keys, clock })),
    { clock },
  )
  const { service } = serviceOf({ authenticate, clock })
  const end = (match: (caller: Caller) => boolean) => {
    authenticate.forget(match)
    service.revoke(match)
  }
  const connect = async (headers: Record<string, string>) => {
    const socket = new FakeSocket()
    await service.connect(socket, new Request('https://sync.test/sync/v1/ws', { headers }))
    await clock.advance(0)
    return socket
  }
  const signIn = async (userId: string, organizationId: string) => {
    const { id, secret } = await sessions.create({
      userId,
      organizationId,
      expiresAt: clock.now() + 1_000_000,
    })
    return { id, connect: () => connect({ authorization: `Bearer ${secret}` }) }
  }
  const makeKey = async (userId: string) => {
    const { id, secret } = await keys.create({ userId })
    return { id, connect: () => connect({ 'x-api-key': secret }) }
  }
  return { sessions, keys, end, signIn, makeKey }
}

const revoked = [4401, 'revoked']
const refused = [4401, 'unauthenticated']

test('invariant 48: a revoked session closes its sockets, and the user’s others stay', async () => {
  const { sessions, end, signIn } = setUp()
  const [phone, laptop] = [await signIn('ann', 'acme'), await signIn('ann', 'acme')]
  const sockets = [await phone.connect(), await phone.connect(), await laptop.connect()]
  await sessions.revoke({ id: phone.id })
  end(({ credentialId }) => credentialId === phone.id)
  expect(sockets.map(({ closed }) => closed)).toEqual([revoked, revoked, undefined])
  expect((await phone.connect()).closed).toEqual(refused)
  expect((await laptop.connect()).closed).toBeUndefined()
})

test('invariant 48: a revoked key closes its sockets', async () => {
  const { keys, end, makeKey } = setUp()
  const [old, next] = [await makeKey('robot'), await makeKey('robot')]
  const sockets = [await old.connect(), await next.connect()]
  await keys.revoke({ id: old.id })
  end(({ credentialId }) => credentialId === old.id)
  expect(sockets.map(({ closed }) => closed)).toEqual([revoked, undefined])
  expect((await old.connect()).closed).toEqual(refused)
})

test('invariant 48: a membership that ends closes the member’s sockets, and nobody else’s', async () => {
  const { sessions, end, signIn } = setUp()
  const all = [await signIn('ann', 'acme'), await signIn('ann', 'zeta'), await signIn('bob', 'acme')]
  const sockets = await Promise.all(all.map(({ connect }) => connect()))
  await sessions.revoke({ userId: 'ann', organizationId: 'acme' })
  end(({ userId, organizationId }) => userId === 'ann' && organizationId === 'acme')
  expect(sockets.map(({ closed }) => closed)).toEqual([revoked, undefined, undefined])
  const again = await Promise.all(all.map(({ connect }) => connect()))
  expect(again.map(({ closed }) => closed)).toEqual([refused, undefined, undefined])
})
