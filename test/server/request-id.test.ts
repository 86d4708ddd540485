import { describe, expect, test } from 'vitest'
import { serviceOf } from './harness.ts'

const idOf = (response: Response) => response.headers.get('X-Request-Id')

describe('the id of a request', () => {
  test('is the one in the request’s header, in the response and in every log line', async () => {
    const lines: string[] = []
    const write = (message: string, details?: object) => lines.push(`${message} ${JSON.stringify(details)}`)
    const { ask } = serviceOf({ logger: { debug: write, info: write, warn: write, error: write } })
    const id = `00-4bf92f3577b34da6${'0'.repeat(106)}-01`
    const headers = { 'x-request-id': id, origin: 'https://app.test' }
    const response = await ask('bootstrap', { user: '', headers })
    expect(idOf(response)).toBe(id)
    expect(response.headers.get('Access-Control-Expose-Headers')).toContain('X-Request-Id')
    expect(lines).toHaveLength(2)
    for (const line of lines) expect(line).toContain(`"requestId":"${id}"`)
  })

  test.each(['', 'a b', 'x'.repeat(129), 'a\tb', '{"a":1}', '<script>', 'ä'])(
    'is created if the header has no valid one: %j',
    async (sent) => {
      const { ask } = serviceOf()
      const [one, other] = [
        await ask('bootstrap', { headers: { 'x-request-id': sent } }),
        await ask('bootstrap'),
      ]
      expect(idOf(one)).toMatch(/^[0-9a-f]{32}$/)
      expect(idOf(other)).not.toBe(idOf(one))
    },
  )

  test('does not reveal how many requests others send', async () => {
    const taken: string[] = []
    const bytes = (length: number) => {
      const made = crypto.getRandomValues(new Uint8Array(length))
      taken.push(Buffer.from(made).toString('hex'))
      return made
    }
    const { ask } = serviceOf({ random: { number: () => 0.5, bytes } })
    await ask('bootstrap')
    taken.length = 0
    const ids = [idOf(await ask('bootstrap')), idOf(await ask('bootstrap'))]
    expect(ids).toEqual(taken)
  })

  test('is also in errors, preflights and /healthz', async () => {
    const { ask, service, log } = serviceOf()
    log.snapshot = () => Promise.reject(new Error('no'))
    const health = await service.fetch(new Request('https://sync.test/healthz'))
    const preflight = await ask('delta', { method: 'OPTIONS', user: '' })
    for (const response of [await ask('bootstrap'), await ask('elsewhere'), preflight, health]) {
      expect(idOf(response)).not.toBeNull()
    }
  })
})
