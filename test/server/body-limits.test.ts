import { describe, expect, test } from 'vitest'
import { bearerToken } from '../../src/server/index.ts'
import { insert, serviceOf } from './harness.ts'

const maxBodyBytes = 1_000

/** A service whose users send bodies that lack their last byte until they are told to send it. */
function setUp() {
  const { ask, clock } = serviceOf({
    maxBodyBytes,
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

  test('are refused if there are too many of all users together', async () => {
    const { send, whole, clock } = setUp()
    const open = Array.from({ length: 32 }, (_, n) => send(`user ${n % 8}`.replace(' ', '')))
    await clock.advance(0)
    const refused = await whole('ann')
    expect(refused.status).toBe(503)
    expect(refused.headers.get('Retry-After')).toBe('1')
    for (const { finish } of open) finish()
    await Promise.all(open.map(({ answer }) => answer))
    expect((await whole('ann')).status).toBe(200)
  })

  test('are ended with their connection if they do not arrive in time', async () => {
    const { send, whole, clock } = setUp()
    const open = [1, 2, 3, 4].map(() => send('ann'))
    await clock.advance(30_100)
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
  const open = Array.from({ length: 10 }, () => send('ann', true, 300))
  await clock.advance(0)
  expect((await whole('ann', 300)).status).toBe(200)
  for (const { finish } of open) finish()
})
