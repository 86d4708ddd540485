import { expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import type { Database } from '../../src/persistence/database.ts'
import { noDatabase } from '../../src/persistence/none.ts'
import { OutboxDisk } from '../../src/persistence/outbox-disk.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const full = new StorageError('quota', 'Full.')
const closed = new StorageError('closed', 'Closed.', { retryable: true })

/** What each write and each drop fails of, in order; those after that succeed. */
interface Failures {
  readonly write: readonly StorageError[]
  readonly drop?: readonly StorageError[]
}

/** The outbox of a disk, what is done with it, and a way to open another database as somebody else may. */
function openDisk({ write, drop = [] }: Failures, onWrite = () => {}) {
  const done: string[] = []
  const clock = new VirtualClock()
  const failures = { write: [...write], drop: [...drop] }
  let opened = 0
  let database = noDatabase
  const openAnother = () => {
    opened += 1
    const own = opened
    const step = async (name: keyof Failures) => {
      done.push(`${name} in ${own}`)
      const failure = failures[name].shift()
      if (failure) throw failure
    }
    const outbox: Database['outbox'] = {
      ...noDatabase.outbox,
      write: async () => {
        onWrite()
        await step('write')
        return []
      },
    }
    database = { ...noDatabase, outbox, drop: () => step('drop') }
  }
  openAnother()
  const outbox = new OutboxDisk({
    database: () => database,
    async openAfter(old, { code }) {
      if (old === database && code === 'closed') openAnother()
      return old !== database
    },
    onDrop: ({ code }) => done.push(`told ${code}`),
    onChange() {},
    clock,
    onAgain: () => done.push('again'),
  })
  return { done, outbox, openAnother, clock }
}

test('a change is tried in at most three databases if the engine closes each', async () => {
  const { done, outbox } = openDisk({ write: Array(9).fill(closed) })
  await expect(outbox.write({})).rejects.toBe(closed)
  expect(done).toEqual(['write in 1', 'write in 2', 'write in 3'])
  expect(outbox.refused).toBe(closed)
})

test('a change is stored in the third database if the engine closes two', async () => {
  const { done, outbox } = openDisk({ write: [closed, closed] })
  expect(await outbox.write({})).toEqual([])
  expect(done).toEqual(['write in 1', 'write in 2', 'write in 3'])
})

test('a newly opened database is not taken for the failed one', async () => {
  let writes = 0
  const { done, outbox, openAnother } = openDisk({ write: [closed] }, () => {
    writes += 1
    if (writes === 1) openAnother()
  })
  expect(await outbox.write({})).toEqual([])
  expect(done).toEqual(['write in 1', 'write in 2'])
})

test('without room, the data is reported as dropped before it is dropped', async () => {
  const { done, outbox } = openDisk({ write: [full] })
  expect(await outbox.write({})).toEqual([])
  expect(done).toEqual(['write in 1', 'told quota', 'drop in 1', 'write in 1'])
})

test('a database that is closed while it makes room is opened again', async () => {
  const { done, outbox } = openDisk({ write: [full, closed], drop: [closed] })
  expect(await outbox.write({})).toEqual([])
  expect(done.at(-1)).toBe('write in 2')
})
