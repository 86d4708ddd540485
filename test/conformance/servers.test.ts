import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { startBackend, type Wire } from '../../examples/own-backend/server.mjs'
import type { OptionalPart } from '../../src/conformance/outcome.ts'
import type { Report } from '../../src/conformance/report.ts'
import { createSyncService, serve } from '../../src/server/index.ts'
import { authenticate } from '../server/harness.ts'
import { startBalancer } from '../server-processes/balancer.ts'
import { runChild } from '../support/child.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { startPythonBackend } from '../support/python-backend.ts'
import { ownFolder } from '../support/sqlite.ts'
import { checking, faultsOf, namesOf } from './checking.ts'

/** For a database on a busy machine. */
const timeout = 300_000

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const ofHarness = { token: 'token-of-ann', 'other-token': 'token-of-bob', 'expired-token': 'token-of-late' }

const partsOf = ({ leftOut }: Report) => leftOut.map(({ part }) => part)

describe('the service holds with everything', () => {
  const start = async (options: Partial<Parameters<typeof createSyncService>[0]>) => {
    const service = createSyncService({
      database: 'memory:',
      authenticate,
      ownerField: 'userId',
      heartbeatMs: 1_000,
      ...options,
    })
    closing.push(() => service.close())
    const server = await serve(service, { port: 0 })
    closing.push(() => server.close())
    return server.url
  }
  const holds = async (url: string) => {
    const report = await checking(url, [], ofHarness)
    expect(faultsOf(report)).toEqual([])
    expect(namesOf(report, 'untested')).toEqual([])
    expect(partsOf(report)).toEqual([])
    expect(report.removal).toEqual({ made: report.removal.made, left: [] })
  }

  test('in memory', async () => {
    await holds(await start({}))
  })

  test('in memory, where records may move to other owners', async () => {
    const url = await start({ authorize: () => ({ mayChangeOwner: true }) })
    const report = await checking(url, ['ownership'], ofHarness)
    expect(faultsOf(report)).toEqual([])
    expect(namesOf(report, 'held')).toContain('ownership/move')
  })

  test('in a folder', { timeout }, async () => {
    await holds(await start({ database: join(ownFolder(), 'data') }))
  })

  describe('in PostgreSQL', () => {
    const postgres = ownPostgres()

    test('with two processes behind one address', { timeout }, async () => {
      const database = await postgres.database('conformance')
      const startProcess = async () => {
        const child = await runChild<{ url: string }>('test/server-processes/server.ts', [database, '1000'])
        closing.push(() => child.kill())
        return (await child.next()).url
      }
      const balancer = await startBalancer([await startProcess(), await startProcess()])
      closing.push(() => balancer.close())
      await holds(balancer.url)
    })
  })
})

describe('the example backend in Node holds with all that it offers', () => {
  const always: readonly OptionalPart[] = [
    'caller',
    'count',
    'lines',
    'was in features',
    'restores in features',
    'compression',
  ]
  const users = new Map([
    ['token-of-ada', 'ada'],
    ['token-of-ben', 'ben'],
  ])

  test.each<[Wire, readonly OptionalPart[]]>([
    [{}, ['hello', 'heartbeat', 'since in pushes']],
    [{ hasSince: true, pushAfterMs: 50 }, ['hello', 'heartbeat']],
    [{ hasSince: true, pushAfterMs: -50 }, ['hello', 'heartbeat']],
    [{ hasTx: false }, ['hello', 'heartbeat', 'since in pushes', 'tx in frames']],
    [{ hasSocket: false }, ['GET /ws']],
    [{ deltas: 'rows' }, ['frames in deltas', 'hello', 'heartbeat', 'since in pushes']],
    [{ deltas: 'rows', hasSocket: false }, ['frames in deltas', 'GET /ws']],
  ])('with %j', async (wire, parts) => {
    const backend = await startBackend({ userOf: (token) => users.get(token ?? ''), wire })
    closing.push(() => backend.close())
    const report = await checking(backend.baseUrl)
    expect(faultsOf(report)).toEqual([])
    expect(new Set(partsOf(report))).toEqual(new Set([...always, ...parts]))
    // The owner is no field of the records.
    expect(namesOf(report, 'untested')).toEqual(['ownership/move'])
    expect(report.removal.left).toEqual([])
  })
})

test('the example backend in Python holds with all that it offers', async () => {
  const backend = await startPythonBackend(join(ownFolder(), 'data.db'), ['ada', 'ben'])
  const report = await checking(backend.baseUrl)
  expect(faultsOf(report)).toEqual([])
  expect(namesOf(report, 'untested')).toEqual(['ownership/move'])
  expect(partsOf(report)).toContain('was in features')
  expect(report.removal.left).toEqual([])
})
