import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  createSyncService,
  MemoryLog,
  openSqlLog,
  type SqlLogOptions,
  type SyncServiceOptions,
} from '../../src/server/index.ts'
import { resolveOptions } from '../../src/server/options.ts'
import { seededRandom, VirtualClock } from '../support/virtual.ts'
import { serviceOf } from './harness.ts'

const serviceWith = (options: object) =>
  createSyncService({
    database: 'memory:',
    authenticate: async () => ({ userId: 'ann' }),
    ownerField: 'userId',
    ...options,
  } as SyncServiceOptions)

const wrongOrigins = [
  'https://app.test',
  ['*'],
  ['app.test'],
  ['https://app.test/'],
  ['https://App.test'],
  ['https://app.test:443'],
  ['https://app.test/page'],
  ['https://*.app.test'],
  ['https://app.test', 7],
  ['null'],
].map((allowedOrigins) => ({ allowedOrigins }))

test.each([
  ...wrongOrigins,
  { maxOps: '5' },
  { heartbeatMs: Number.NaN },
  { metrics: {} },
  { metrics: { path: '/sync/v1/delta', answered: () => {}, show: () => {} } },
  { rateLimit: {} },
  { logger: null },
  { logger: {} },
  { healthPath: '/sync/v1/bootstrap' },
  { path: '', healthPath: '/tx' },
  { maxReaders: 0 },
  { maxWaitMs: '10s' },
  { retention: 7 },
])('%j is refused, and the error names the option', (options) => {
  const [option = ''] = Object.keys(options).slice(-1)
  expect(() => serviceWith(options)).toThrow(`\`${option}\` must be `)
})

test.each(['maxWaitMs', 'readerIdleMs', 'spoolAfterMs', 'maxReadMs'])(
  '%s accepts only times that a timer and PostgreSQL accept',
  async (option) => {
    const message = `\`${option}\` must be a number of ms from 1 to 2147483647.`
    for (const value of [0, 0.5, 2_147_483_648, Number.POSITIVE_INFINITY, Number.NaN]) {
      expect(() => serviceWith({ [option]: value })).toThrow(message)
      await expect(openSqlLog('memory:', { [option]: value })).rejects.toThrow(message)
    }
    for (const value of [1, 2_147_483_647]) expect(serviceWith({ [option]: value }).path).toBe('/sync/v1')
  },
)

test.each<[object, string]>([
  [{ maxAgeMs: -1 }, 'retention.maxAgeMs'],
  [{ maxChanges: Number.NaN }, 'retention.maxChanges'],
  [{ maxVerdictAgeMs: 3_599_999 }, 'retention.maxVerdictAgeMs'],
  [{ maxVerdictAgeMs: Number.NaN }, 'retention.maxVerdictAgeMs'],
  [{ maxAge: 1 }, 'retention.maxAge'],
])('an invalid retention is refused: %j', async (retention, option) => {
  expect(() => serviceWith({ retention })).toThrow(expect.objectContaining({ option }))
  const options = { retention } as SqlLogOptions
  await expect(openSqlLog('memory:', options)).rejects.toMatchObject({ option })
  const environment = { clock: new VirtualClock(), random: seededRandom(1) }
  expect(() => new MemoryLog({ ...options, ...environment })).toThrow(expect.objectContaining({ option }))
})

test('an unknown option is refused, and the error lists the known ones', () => {
  const misspelt = () => serviceWith({ allowedOrigin: ['https://app.test'] })
  expect(misspelt).toThrow('`allowedOrigin` is not an option; expected one of database, ')
})

test('invariant 56: origins of pages and of applications with a custom scheme are accepted', async () => {
  const allowedOrigins = ['https://app.test', 'http://localhost:5173', 'capacitor://localhost']
  const { ask } = serviceOf({ allowedOrigins })
  const statusFor = async (origin: string) =>
    (await ask('tx', { method: 'POST', body: '{}', headers: { origin } })).status
  for (const origin of allowedOrigins) expect(await statusFor(origin)).toBe(400)
  for (const origin of ['https://app', 'https://app.test.evil', 'localhost'])
    expect(await statusFor(origin)).toBe(403)
})

test('an option that is undefined has its default', async () => {
  const service = serviceWith({
    path: undefined,
    logger: undefined,
    heartbeatMs: undefined,
    models: undefined,
  })
  expect(service.path).toBe('/sync/v1')
  expect((await service.fetch(new Request('https://sync.test/healthz'))).status).toBe(200)
})

test('an option of the log is refused if the log is open already, unless it is undefined', () => {
  const { log: database } = serviceOf()
  expect(serviceWith({ database, retention: undefined }).path).toBe('/sync/v1')
  const wrong = expect.objectContaining({ name: 'ConfigurationError', option: 'retention' })
  expect(() => serviceWith({ database, retention: { maxChanges: 1 } })).toThrow(wrong)
})

test('each limit has the default that the reference states', () => {
  const given = { database: 'memory:', authenticate: async () => null, ownerField: 'userId' } as const
  const { heartbeatMs, recheckMs, maxBufferedBytes, maxBodyBytes, maxTransactions, maxOps, maxRecordBytes } =
    resolveOptions(given)
  const limits = {
    ...{ heartbeatMs, recheckMs, maxBufferedBytes },
    ...{ maxBodyBytes, maxTransactions, maxOps, maxRecordBytes },
  }
  const read = (name: string) => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8')
  const [reference, deployment] = [read('api'), read('deployment')]
  const stated = Object.keys(limits).map((option) => {
    const [, value = '', unit] =
      new RegExp(`^\\| \`${option}\` \\| [^|]+ \\| ([\\d ]+) \\|`, 'm').exec(reference) ??
      new RegExp(`^\\| [^|]+ \\| ([\\d ]+?)( MiB)? \\| \`${option}\``, 'm').exec(deployment) ??
      []
    return [option, Number(value.replaceAll(' ', '')) * (unit ? 1_048_576 : 1)]
  })
  expect(Object.fromEntries(stated)).toEqual(limits)
})
