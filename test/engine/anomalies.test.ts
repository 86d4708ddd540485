import { expect, test } from 'vitest'
import { ofBroken, ofUnknown } from '../../src/engine/anomalies.ts'

const messages = (anomalies: ReturnType<typeof ofBroken>) => anomalies.map(({ message }) => message)

test('of many items that are left out, or of changes to records that are not here, the last anomaly counts the rest', () => {
  const faults = Array.from({ length: 21 }, (_, n) => `fault ${n}`)
  expect(messages(ofBroken({ kind: 'row', broken: faults, sid: 7 })).slice(19)).toEqual([
    'Left out: fault 19.',
    'Left out: 1 more.',
  ])
  expect(ofBroken({ kind: 'row', broken: faults.slice(1), sid: 7 })).toHaveLength(20)
  const ops = Array.from({ length: 23 }, (_, n) => ({ op: 'u' as const, t: 'Issue', id: `${n}`, p: {} }))
  expect(messages(ofUnknown(ops)).slice(19)).toEqual([
    'Update of an unknown record: Issue 19.',
    '3 more updates of unknown records.',
  ])
  expect(ofUnknown(ops.slice(3))).toHaveLength(20)
})
