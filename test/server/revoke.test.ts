import { expect, test } from 'vitest'
import { FakeSocket, requestTo, serviceOf } from './harness.ts'

test('a caller who is revoked while the socket is being let in is closed, and later ones are not', async () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const { service, clock } = serviceOf({
    authenticate: async () => {
      await held
      return { userId: 'ann' }
    },
  })
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
