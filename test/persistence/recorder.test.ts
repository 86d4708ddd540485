import { describe, expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { Recorder } from '../../src/persistence/recorder.ts'
import type { JournalEntry } from '../../src/persistence/stored-data.ts'

/** A recorder, what it began to write, what its database took, and what it told; the next writes fail as `failures` says. */
function recorderOf(failures: (Error | undefined)[] = []) {
  const begun: number[] = []
  const stored: string[] = []
  const told: (string | undefined)[] = []
  const append = async ({ since, sid, ops, owesRepair }: JournalEntry) => {
    begun.push(since)
    await undefined
    const failure = failures.shift()
    if (failure) throw failure
    const repair = owesRepair ? ', owes a repair' : ''
    stored.push(`${since}-${sid}: ${ops.map(({ id }) => id)}${repair}`)
  }
  const recorder = new Recorder(append, {
    changed: (failure) => told.push(failure?.code),
    ended: () => {},
  })
  return { recorder, begun, stored, told }
}

const entry = (since: number, sid = since + 1): JournalEntry => ({
  since,
  sid,
  ops: [{ op: 'd', t: 'Issue', id: `${sid}` }],
})

const full = new StorageError('quota', 'Full.')

describe('a recorder', () => {
  test('writes at once, one write at a time, and joins waiting changes', async () => {
    const { recorder, begun, stored } = recorderOf()
    recorder.record(entry(0))
    expect(begun).toEqual([0])
    for (const since of [1, 2]) recorder.record(entry(since))
    await recorder.settled()
    recorder.record(entry(3))
    await recorder.settled()
    expect(stored).toEqual(['0-1: 1', '1-3: 2,3', '3-4: 4'])
  })

  test('does not copy waiting changes again', async () => {
    const { recorder, stored } = recorderOf()
    let items = 0
    const iterate = Array.prototype[Symbol.iterator]
    Array.prototype[Symbol.iterator] = function () {
      items += this.length
      return iterate.call(this)
    }
    try {
      for (let since = 0; since < 1_000; since += 1) recorder.record(entry(since))
    } finally {
      Array.prototype[Symbol.iterator] = iterate
    }
    await recorder.settled()
    expect([items < 10_000, stored.length]).toEqual([true, 2])
  })

  test('invariant 59: a failed write is repeated before the next one, so that nothing is missing', async () => {
    const { recorder, stored, told } = recorderOf([full])
    recorder.record(entry(0))
    await recorder.settled()
    expect({ stored, failure: recorder.failure }).toEqual({ stored: [], failure: full })
    recorder.record(entry(1))
    await recorder.settled()
    const failure = undefined
    expect({ stored, failure: recorder.failure }).toEqual({ stored: ['0-1: 1', '1-2: 2'], failure })
    expect(told).toEqual(['quota', undefined])
  })

  test('recognizes a write that was stored after its timeout, and continues after it', async () => {
    const late = new StorageError('timeout', 'Late.')
    const { recorder, stored, told } = recorderOf([late, new StorageError('broken_link', 'No.')])
    recorder.record(entry(0))
    await recorder.settled()
    recorder.record(entry(1))
    await recorder.settled()
    expect(stored).toEqual(['1-1: ', '1-2: 2'])
    expect(told).toEqual(['timeout', undefined])
  })

  test.each(['fenced', 'broken_link', 'closed'] as const)(
    'writes nothing after %s until a snapshot is stored',
    async (code) => {
      const { recorder, stored, told } = recorderOf([new StorageError(code, 'No.')])
      for (const since of [0, 1]) {
        recorder.record(entry(since))
        await recorder.settled()
      }
      expect({ stored, code: recorder.failure?.code }).toEqual({ stored: [], code })
      recorder.resume()
      recorder.record(entry(5))
      await recorder.settled()
      expect({ stored, told }).toEqual({ stored: ['5-6: 6'], told: [code, undefined] })
    },
  )

  test('reports a snapshot that could not be stored until one is', async () => {
    const { recorder, stored, told } = recorderOf()
    recorder.suspend(full)
    recorder.record(entry(0))
    await recorder.settled()
    expect({ stored, failure: recorder.failure }).toEqual({ stored: [], failure: full })
    recorder.resume()
    expect({ failure: recorder.failure, told }).toEqual({ failure: undefined, told: ['quota', undefined] })
  })

  test('invariant 33: stays given up when a current write succeeds', async () => {
    const { recorder, stored, told } = recorderOf()
    recorder.record(entry(0))
    recorder.suspend(full)
    await recorder.settled()
    expect(stored).toEqual(['0-1: 1'])
    expect({ failure: recorder.failure, told }).toEqual({ failure: full, told: ['quota'] })
  })

  test('has no failure if a snapshot was stored while a delta was written', async () => {
    const { recorder, told } = recorderOf()
    recorder.record(entry(0))
    recorder.resume()
    await recorder.settled()
    expect({ failure: recorder.failure, told }).toEqual({ failure: undefined, told: [] })
  })

  test('reports why it was given up, even if a current write fails', async () => {
    const { recorder, told } = recorderOf([new StorageError('broken_link', 'It does not follow.')])
    recorder.record(entry(0))
    recorder.suspend(full)
    await recorder.settled()
    expect({ failure: recorder.failure, told }).toEqual({ failure: full, told: ['quota'] })
  })
})
