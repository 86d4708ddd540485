import { expect, test } from 'vitest'
import type { Caller } from '../../src/server/index.ts'
import { FakeSocket, requestTo, serviceOf } from './harness.ts'

/** A service whose authentication waits until it is released. */
function holding(caller: Caller) {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const authenticate = async () => {
    await held
    return caller
  }
  return { ...serviceOf({ authenticate }), release }
}

test('a caller who is revoked while the socket is being let in is closed, and later ones are not', async () => {
  const { service, clock, release } = holding({ userId: 'ann' })
  await service.ready()
  const [early, late] = [new FakeSocket(), new FakeSocket()]
  const connected = service.connect(early, requestTo('ws', 'ann'))
  await clock.advance(10)
  service.revoke(({ userId }) => userId === 'ann')
  release()
  await connected
  await clock.advance(10)
  expect(early.closed).toEqual([4401, 'revoked'])
  await service.connect(late, requestTo('ws', 'ann'))
  await clock.advance(10)
  expect(late.closed).toBeUndefined()
})

/** Fails for whoever belongs to no organization. */
const isOfAcme = ({ organizationId }: Caller) => {
  if (organizationId === undefined) throw new Error('no organization')
  return organizationId === 'acme'
}

test('invariant 48: a revocation that fails for one caller is done for all others, and that one is authenticated anew', async () => {
  const { service, connect, lines } = serviceOf()
  const [lonely, ann, cid] = [await connect('lonely'), await connect('ann'), await connect('cid')]
  service.revoke(isOfAcme)
  expect([lonely, ann, cid].map(({ closed }) => closed?.[0])).toEqual([1012, 4401, undefined])
  expect(lines.join()).toContain('no organization')
})

test('a revocation that fails for a socket that is being let in ends nothing but that socket', async () => {
  const { service, clock, release, lines } = holding({ userId: 'lonely' })
  await service.ready()
  const socket = new FakeSocket()
  const connected = service.connect(socket, requestTo('ws', 'lonely'))
  await clock.advance(10)
  service.revoke(isOfAcme)
  release()
  await connected
  await clock.advance(10)
  expect(socket.closed).toEqual([1012, 'restart'])
  expect(lines.join()).toContain('no organization')
})
