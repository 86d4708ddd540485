import { describe, expect, test } from 'vitest'
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

test('a revocation closes a socket that is being accepted, and no later ones', async () => {
  const { service, clock, release } = holding({ userId: 'ann' })
  await service.ready()
  const [early, late] = [new FakeSocket(), new FakeSocket()]
  const connected = service.connect(early, requestTo('ws', 'ann'))
  await clock.advance(10)
  service.revoke(({ userId }) => userId === 'ann')
  await clock.advance(10)
  release()
  await connected
  await clock.advance(10)
  expect(early.closed).toEqual([4401, 'revoked'])
  await service.connect(late, requestTo('ws', 'ann'))
  await clock.advance(10)
  expect(late.closed).toBeUndefined()
})

test('a revocation applies to a socket that was requested in the same moment, whatever is revoked later', async () => {
  const { service, clock, release } = holding({ userId: 'ann' })
  await service.ready()
  const socket = new FakeSocket()
  const connected = service.connect(socket, requestTo('ws', 'ann'))
  service.revoke(({ userId }) => userId === 'ann')
  await clock.advance(29_000)
  service.revoke(({ userId }) => userId === 'bob')
  release()
  await connected
  await clock.advance(10)
  expect(socket.closed).toEqual([4401, 'revoked'])
})

/** Fails for whoever belongs to no organization. */
const isOfAcme = ({ organizationId }: Caller) => {
  if (organizationId === undefined) throw new Error('no organization')
  return organizationId === 'acme'
}

test('invariant 48: if `match` throws for one caller, the others are still closed, and that one has to authenticate again', async () => {
  const { service, connect, lines } = serviceOf()
  const [lonely, ann, cid] = [await connect('lonely'), await connect('ann'), await connect('cid')]
  service.revoke(isOfAcme)
  expect([lonely, ann, cid].map(({ closed }) => closed?.[0])).toEqual([1012, 4401, undefined])
  expect(lines.join()).toContain('no organization')
})

test('if `match` throws for a socket that is being accepted, only that socket is closed', async () => {
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

describe('the credentials of an open socket are checked again', () => {
  /** A socket of ann's, and who she is by then, or what is thrown. */
  async function open(caller: Caller = { userId: 'ann' }, ownerField = 'userId') {
    const state: { answer: Caller | null | Error | Promise<never> } = { answer: caller }
    const authenticate = async () => {
      if (state.answer instanceof Error) throw state.answer
      return state.answer
    }
    const { clock, connect } = serviceOf({ authenticate, ownerField, recheckMs: 10_000 })
    return { clock, socket: await connect('ann'), state }
  }

  test('invariant 48: and a revocation in any process closes the socket soon', async () => {
    const { clock, socket, state } = await open()
    await clock.advance(25_000)
    expect(socket.closed).toBeUndefined()
    state.answer = null
    await clock.advance(10_000)
    expect(socket.closed).toEqual([4401, 'revoked'])
  })

  test('and a token in the query is checked, too', async () => {
    const { service, clock } = serviceOf({ recheckMs: 10_000 })
    const socket = new FakeSocket()
    await service.connect(socket, requestTo('ws?token=token-of-ann', ''))
    await clock.advance(25_000)
    expect([socket.hello, socket.closed]).toEqual([expect.anything(), undefined])
  })

  test('and another user closes the socket, so that the client connects again', async () => {
    const { clock, socket, state } = await open()
    state.answer = { userId: 'bob' }
    await clock.advance(10_000)
    expect(socket.closed).toEqual([1012, 'restart'])
  })

  test.each([
    ['the same user of another organization', { userId: 'ann', organizationId: 'zeta' }],
    ['another user of the same organization', { userId: 'bob', organizationId: 'acme' }],
  ])('and so does %s', async (_, answer) => {
    const { clock, socket, state } = await open({ userId: 'ann', organizationId: 'acme' }, 'organizationId')
    await clock.advance(10_000)
    expect(socket.closed).toBeUndefined()
    state.answer = answer
    await clock.advance(10_000)
    expect(socket.closed).toEqual([1012, 'restart'])
  })

  test.each([
    ['throws', new Error('away')],
    ['never answers', new Promise<never>(() => {})],
  ])('and the socket stays open while `authenticate` %s', async (_, answer) => {
    const { clock, socket, state } = await open()
    state.answer = answer
    await clock.advance(60_000)
    expect(socket.closed).toBeUndefined()
    state.answer = null
    await clock.advance(10_000)
    expect(socket.closed).toEqual([4401, 'revoked'])
  })

  test('but not after the socket has closed', async () => {
    const { clock, socket } = await open()
    const before = clock.timers
    socket.close()
    await clock.advance(0)
    expect(clock.timers).toBeLessThan(before)
    await clock.advance(60_000)
    expect(socket.closed).toEqual([undefined, undefined])
  })
})
