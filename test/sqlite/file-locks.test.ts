import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ClientsFile } from '../../src/sqlite/clients-file.ts'
import { fileLocks } from '../../src/sqlite/file-locks.ts'
import { JumpingClock } from '../support/jumping-clock.ts'
import { openSqlite, ownFolder } from '../support/sqlite.ts'
import { VirtualClock } from '../support/virtual.ts'

const never = () => new Promise<void>(() => {})

/** Processes with one file. A process that stands still renews nothing. */
function processes() {
  const time = new VirtualClock()
  const path = join(ownFolder(), 'clients')
  let count = 0
  const start = () => {
    let isFrozen = false
    const clock = new JumpingClock({
      now: () => time.now(),
      after: (ms, callback) => time.after(ms, () => isFrozen || callback()),
      pause: () => time.pause(),
    })
    count += 1
    const number = count
    const random = { number: () => 0, bytes: (length: number) => new Uint8Array(length).fill(number) }
    const locks = fileLocks(new ClientsFile(clock, () => openSqlite(path)), { clock, random })
    return {
      clock,
      locks,
      freeze: () => {
        isFrozen = true
      },
    }
  }
  return { time, start }
}

/** Asks for the lock. `states`: what has become of the request. */
function ask({ locks }: Pick<ReturnType<ReturnType<typeof processes>['start']>, 'locks'>, options = {}) {
  const states: string[] = []
  locks
    .request('lead', options, (lock) => {
      states.push(lock ? 'held' : 'not free')
      return lock ? never() : Promise.resolve()
    })
    .catch(() => states.push('lost'))
  return states
}

test('a lock is held for as long as its holder runs', async () => {
  const { time, start } = processes()
  const first = ask(start())
  const second = ask(start())
  await time.advance(60_000)
  expect(first).toEqual(['held'])
  expect(second).toEqual([])
})

test('invariant 40: the lock of a process that stands still is free within 10 s', async () => {
  const { time, start } = processes()
  const frozen = start()
  ask(frozen)
  const second = ask(start())
  await time.advance(7_000)
  frozen.freeze()
  await time.advance(10_250)
  expect(second).toEqual(['held'])
})

test('invariant 40: a process that runs again after its lock was taken has lost it', async () => {
  const { time, start } = processes()
  const first = ask(start())
  await time.advance(1_000)
  const second = ask(start(), { steal: true })
  await time.advance(250)
  expect(first).toEqual(['held', 'lost'])
  expect(second).toEqual(['held'])
})

test('a clock that is set back by an hour keeps nobody from a lock that is free', async () => {
  const { time, start } = processes()
  const [first, second] = [start(), start()]
  ask(first)
  await time.advance(1_000)
  first.freeze()
  second.clock.jump(-3_600_000)
  const states = ask(second)
  await time.advance(250)
  expect(states).toEqual(['held'])
})

test('a clock that is set back by a second takes the lock from nobody', async () => {
  const { time, start } = processes()
  const [first, second] = [start(), start()]
  const states = ask(first)
  for (const { clock } of [first, second]) clock.jump(-1_000)
  ask(second)
  await time.advance(60_000)
  expect(states).toEqual(['held'])
})

test('a file that cannot be opened refuses the lock', async () => {
  const { clock } = processes().start()
  const random = { number: () => 0, bytes: (length: number) => new Uint8Array(length) }
  const file = new ClientsFile(clock, () => openSqlite('/no/such/folder/clients'))
  await expect(fileLocks(file, { clock, random }).request('lead', {}, never)).rejects.toThrow()
})
