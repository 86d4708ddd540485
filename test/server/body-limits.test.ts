import { describe, expect, test } from 'vitest'
import { bearerToken } from '../../src/server/index.ts'
import { insert, serviceOf } from './harness.ts'

const maxBodyBytes = 4_000

/** A service whose users send bodies that lack their last byte until they are told to send it. */
function setUp(options: Parameters<typeof serviceOf>[0] = {}) {
  const { ask, clock } = serviceOf({
    maxBodyBytes,
    ...options,
    authenticate: async (request) => ({ userId: bearerToken(request) ?? '' }),
  })
  let transactions = 0
  const send = (user: string, announced = true, length = maxBodyBytes) => {
    transactions += 1
    const transaction = { id: `tx${transactions}`, since: 0, ops: [insert(`i${transactions}`, {}, user)] }
    const bytes = new TextEncoder().encode(JSON.stringify({ txs: [transaction] }).padEnd(length, ' '))
    let finish = () => {}
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.subarray(0, -1))
        finish = () => {
          controller.enqueue(bytes.subarray(-1))
          controller.close()
        }
      },
    })
    const headers = {
      authorization: `Bearer ${user}`,
      ...(announced && { 'content-length': String(bytes.length) }),
    }
    const answer = ask('tx', { method: 'POST', user: '', body, headers, duplex: 'half' } as RequestInit)
    return { answer, finish: () => finish() }
  }
  const whole = async (user: string, length?: number) => {
    const { answer, finish } = send(user, true, length)
    finish()
    return answer
  }
  return { send, whole, clock }
}

describe('request bodies that are not complete', () => {
  test.each([
    ['say', true],
    ['do not say', false],
  ])(
    'and %s their length: the fifth long body of a user is refused, and those of others are not',
    async (_, announced) => {
      const { send, whole, clock } = setUp()
      const open = [1, 2, 3, 4].map(() => send('ann', announced))
      await clock.advance(0)
      const fifth = await whole('ann')
      expect(fifth.status).toBe(429)
      expect(fifth.headers.get('Retry-After')).toBe('1')
      expect((await fifth.json()).error.code).toBe('too_many_requests')
      expect((await whole('bob')).status).toBe(200)
      for (const { answer, finish } of open) {
        finish()
        expect((await answer).status).toBe(200)
      }
      expect((await whole('ann')).status).toBe(200)
    },
  )

  test('are refused if there are too many long ones of all users together, and short ones are not', async () => {
    const { send, whole, clock } = setUp()
    const open = Array.from({ length: 24 }, (_, n) => send(`user${n}`))
    await clock.advance(0)
    const refused = await whole('ann')
    expect(refused.status).toBe(503)
    expect(refused.headers.get('Retry-After')).toBe('1')
    expect((await whole('ann', 200)).status).toBe(200)
    for (const { finish } of open) finish()
    await Promise.all(open.map(({ answer }) => answer))
    expect((await whole('ann')).status).toBe(200)
  })

  test('leave room for others: when many are under way, each user may have one', async () => {
    const { send, whole, clock } = setUp()
    const open = Array.from({ length: 17 }, (_, n) => send(`user${n % 6}`))
    await clock.advance(0)
    expect((await whole('user5')).status).toBe(429)
    expect((await whole('ann')).status).toBe(200)
    for (const { answer, finish } of open) {
      finish()
      expect((await answer).status).toBe(200)
    }
  })

  test('are ended with their connection if they do not arrive in time', async () => {
    const { send, whole, clock } = setUp()
    const open = [1, 2, 3, 4].map(() => send('ann'))
    await clock.advance(30_400)
    for (const { answer } of open) {
      const response = await answer
      expect(response.status).toBe(408)
      expect(response.headers.get('Connection')).toBe('close')
      expect((await response.json()).error.code).toBe('too_slow')
    }
    expect((await whole('ann')).status).toBe(200)
  })
})

test('short bodies count by their length', async () => {
  const { send, whole, clock } = setUp()
  const open = Array.from({ length: 10 }, () => send('ann', true, 1_200))
  await clock.advance(0)
  expect((await whole('ann', 1_200)).status).toBe(200)
  for (const { finish } of open) finish()
})

test('two long bodies of a user are decided about at once: the others wait, and nobody else does', async () => {
  const begun: string[] = []
  let allow = () => {}
  const allowed = new Promise<void>((resolve) => {
    allow = resolve
  })
  const { whole, clock } = setUp({
    authorize: async (_, { userId }) => {
      begun.push(userId)
      if (userId === 'ann') await allowed
      return undefined
    },
  })
  const own = [1, 2, 3, 4].map(() => whole('ann'))
  await clock.advance(0)
  expect((await whole('bob')).status).toBe(200)
  expect(begun).toEqual(['ann', 'ann', 'bob'])
  allow()
  for (const answer of own) expect((await answer).status).toBe(200)
})
