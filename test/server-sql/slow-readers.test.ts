import { afterEach, describe, expect, test, vi } from 'vitest'
import type { LogRead } from '../../src/server/log/log.ts'
import { openSqlLog, type SqlLogOptions } from '../../src/server/log/sql/open.ts'
import type { SqlLog } from '../../src/server/log/sql/sql-log.ts'
import { insert } from '../server/harness.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { VirtualClock } from '../support/virtual.ts'
import { asService, idsOf } from './judge.ts'

const postgres = ownPostgres()
let databases = 0
let clock: VirtualClock
let log: SqlLog

afterEach(async () => {
  vi.unstubAllEnvs()
  await log.close()
})

/** A log with one connection of each kind, and more records of ann's than a few batches hold. */
async function open(options: SqlLogOptions = {}): Promise<void> {
  clock = new VirtualClock()
  databases += 1
  const address = await postgres.database(`slow${databases}`)
  log = await openSqlLog(address, { maxReaders: 1, maxDeltaReaders: 1, maxWaitMs: 20_000, clock, ...options })
  const text = 'x'.repeat(500)
  await log.write(
    Array.from({ length: 4_000 }, (_, index) => insert(String(index), { text })),
    asService,
  )
  await log.write([insert('b', {}, 'bob')], asService)
}

const iterate = ({ batches }: LogRead) => batches[Symbol.asyncIterator]()

async function idsIn(first: string, rest: AsyncIterator<string>): Promise<readonly string[]> {
  const texts = [first]
  for (let next = await rest.next(); !next.done; next = await rest.next()) texts.push(next.value)
  return JSON.parse(`[${texts.join()}]`).map(({ id }: { id: string }) => id)
}

const all = Array.from({ length: 4_000 }, (_, index) => String(index))

describe('a response that is read slowly', () => {
  test('is copied to a file after a few seconds, and is complete', async () => {
    await open()
    const slow = iterate(await log.snapshot(['ann']))
    const { value: first } = await slow.next()
    const other = idsOf(log, 'bob')
    await clock.advance(5_000)
    expect(await other).toEqual(['b'])
    await log.write([insert('late')], asService)
    expect(await idsIn(first, slow)).toEqual(all)
  })

  test('invariant 55: releases its connection at once if others wait, and is complete', async () => {
    await open()
    const [snapshot, delta] = [iterate(await log.snapshot(['ann'])), iterate(await log.delta(['ann'], 0))]
    const { value: first } = await snapshot.next()
    const { value: firstFrames } = await delta.next()
    expect(await idsOf(log, 'bob')).toEqual(['b'])
    expect((await log.delta(['bob'], 4_000)).head).toBe(4_001)
    expect(await idsIn(first, snapshot)).toEqual(all)
    expect(await idsIn(firstFrames, delta)).toEqual(all)
  })

  test('invariant 55: does not block a delta', async () => {
    await open()
    const slow = iterate(await log.snapshot(['ann']))
    const delta = await log.delta(['bob'], 4_000)
    expect(delta.head).toBe(4_001)
    await slow.return?.()
  })

  test('is complete if it becomes slow while a batch is fetched', async () => {
    await open()
    const slow = iterate(await log.delta(['ann'], 0))
    const { value: first } = await slow.next()
    const second = slow.next()
    await clock.advance(5_000)
    expect(await idsIn(`${first},${(await second).value}`, slow)).toEqual(all)
    expect(await idsOf(log, 'bob')).toEqual(['b'])
  })

  test('is aborted in the end', async () => {
    await open({ maxReadMs: 60_000 })
    const slow = iterate(await log.snapshot(['ann']))
    for (let second = 0; second < 60; second += 20) {
      expect((await slow.next()).done).toBe(false)
      await clock.advance(20_000)
    }
    await expect(slow.next()).rejects.toThrow('it took too long')
  })

  test('breaks off if there is no room for the copy, and blocks nobody', async () => {
    await open()
    const slow = iterate(await log.snapshot(['ann']))
    await slow.next()
    vi.stubEnv('TMPDIR', '/nowhere')
    await clock.advance(5_000)
    expect(await idsOf(log, 'bob')).toEqual(['b'])
    await expect(slow.next()).rejects.toThrow('ENOENT')
  })

  test('leaves nothing behind if the client leaves during the copy', async () => {
    await open()
    const slow = iterate(await log.snapshot(['ann']))
    await slow.next()
    await clock.advance(5_000)
    await slow.return?.()
    expect(await idsOf(log, 'bob')).toEqual(['b'])
  })
})
