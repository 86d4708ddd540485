import { pino } from 'pino'
import { expect, test } from 'vitest'
import { jwtAuthentication, pinoLogger, signToken } from '../../src/server/index.ts'
import { serviceOf } from './harness.ts'

const secret = 'a secret that is long enough to sign with'

function recorded() {
  const lines: string[] = []
  const logger = pinoLogger(
    pino({ level: 'debug', base: null }, { write: (line: string) => lines.push(line) }),
  )
  return { logger, lines, parsed: () => lines.map((line) => JSON.parse(line)) }
}

test('a pino logger gets the message, the level and the details', () => {
  const { logger, parsed } = recorded()
  logger.debug('One.')
  logger.info('Two.', { a: 1 })
  logger.warn('Three.', { b: { c: 2 } })
  logger.error('Four.', { reason: 'x' })
  expect(parsed()).toMatchObject([
    { level: 20, msg: 'One.' },
    { level: 30, msg: 'Two.', a: 1 },
    { level: 40, msg: 'Three.', b: { c: 2 } },
    { level: 50, msg: 'Four.', reason: 'x' },
  ])
})

test('each response is logged with its path, its status and its duration', async () => {
  const { logger, parsed } = recorded()
  const { ask } = serviceOf({ logger })
  await ask('bootstrap')
  await ask('delta?since=x', { headers: { 'x-request-id': 'r2' } })
  expect(parsed()).toMatchObject([
    { msg: 'A request was answered.', method: 'GET', path: '/sync/v1/bootstrap', status: 200, ms: 0 },
    { msg: 'A request was answered.', requestId: 'r2', path: '/sync/v1/delta', status: 400 },
  ])
})

test('no log line contains a credential, wherever it was sent and whatever the response', async () => {
  const { logger, lines } = recorded()
  const { service } = serviceOf({ logger, authenticate: jwtAuthentication({ secret }) })
  const good = await signToken({ secret, userId: 'ann' })
  const tokens = [good, `${good}x`, await signToken({ secret: secret.replace('a', 'b'), userId: 'ann' })]
  for (const token of tokens) {
    for (const path of ['bootstrap', 'delta?since=0', 'tx', 'ws', 'elsewhere', `ws?token=${token}`]) {
      const url = `https://sync.test/sync/v1/${path}`
      const spots = [
        { authorization: `Bearer ${token}` },
        { 'x-api-key': token },
        { authorization: token },
        {},
      ]
      for (const headers of spots) {
        await service.fetch(new Request(url, { headers }))
        await service.upgrade(new Request(url, { headers }))
      }
    }
  }
  expect(lines.length).toBeGreaterThan(100)
  for (const token of tokens) {
    for (const part of token.split('.').slice(1)) expect(lines.join()).not.toContain(part)
  }
})

test('an error of `authenticate` that quotes a credential, plain or in a URL, is logged without it', async () => {
  const { logger, parsed } = recorded()
  const authenticate = async ({ headers }: Request) => {
    const value = headers.get('x-api-key') ?? headers.get('authorization')?.replace('Bearer ', '') ?? ''
    throw new Error(`No answer to ${value} from https://login.test/?token=${encodeURIComponent(value)}.`)
  }
  const { service } = serviceOf({ logger, authenticate })
  const url = 'https://sync.test/sync/v1/ws'
  await service.fetch(new Request(url, { headers: { authorization: 'Bearer ab+cd/ef==' } }))
  await service.fetch(new Request(url, { headers: { 'x-api-key': 'ab+cd/ef==' } }))
  await service.upgrade(new Request(`${url}?token=ab%2Bcd%2Fef%3D%3D`))
  const reasons = parsed().flatMap(({ reason }) => reason ?? [])
  expect(reasons).toEqual(Array(3).fill('No answer to … from https://login.test/?token=….'))
})
