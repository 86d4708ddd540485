import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decideOn, type KeptVerdict } from '../../src/server/log/decide-on.ts'
import type { ClientTransaction } from '../../src/server/log/log.ts'
import { madeAt } from '../../src/server/log/made-at.ts'
import { idAt } from '../support/ids-at.ts'
import { txOf } from './log-contract/support.ts'

const horizon = 1_767_225_600_000
const [old, young] = [idAt(horizon - 1), idAt(horizon)]
const accepted: KeptVerdict = { digest: 'x', verdict: { sid: 7 } }
const rejected: KeptVerdict = { digest: 'x', verdict: { error: { code: 'exists', message: 'It exists.' } } }

interface Asked extends Partial<ClientTransaction> {
  readonly kept?: { readonly [id: string]: KeptVerdict }
  readonly verdictHorizon?: number
}

/** What comes of a transaction `id` that would be accepted: its code, and whether that is kept. */
async function decided(id: string, { kept = {}, verdictHorizon = horizon, ...more }: Asked = {}) {
  const drafted = async () => ({ sid: 9, frames: [], records: [] })
  const { verdict, unkept } = await decideOn(
    txOf(id, [], { digest: 'x', ...more }),
    (named) => kept[named],
    drafted,
    verdictHorizon,
  )
  return ['sid' in verdict ? verdict.sid : verdict.error.code, unkept ? 'not kept' : 'kept']
}

describe('a transaction whose verdict may have been forgotten', async () => {
  test('is expired, which is not kept, whatever else is wrong with it', async () => {
    expect(await decided(old)).toEqual(['expired', 'not kept'])
    const refused = { code: 'forbidden', message: 'No.' }
    expect(await decided(old, { refused, requires: ['unheard of'] })).toEqual(['expired', 'not kept'])
  })

  test('gets the verdict that is still there', async () => {
    expect(await decided(old, { kept: { [old]: accepted } })).toEqual([7, 'not kept'])
    expect(await decided(old, { kept: { [old]: rejected } })).toEqual(['exists', 'not kept'])
    expect(await decided(old, { kept: { [old]: accepted }, digest: 'y' })).toEqual(['id_reused', 'not kept'])
  })

  test('takes what requires it along, which is kept for one that is younger', async () => {
    expect(await decided(young, { requires: [old] })).toEqual(['expired', 'kept'])
    const other = idAt(horizon)
    expect(await decided(young, { requires: [other, old], kept: { [other]: accepted } })).toEqual([
      'expired',
      'kept',
    ])
  })

  test('is told what was wrong, and what to do', async () => {
    const tell = async (id: string, requires: readonly string[] = []) =>
      (await decideOn(txOf(id, [], { requires }), () => undefined, expect.fail, horizon)).verdict
    expect(await tell(old)).toEqual({
      error: {
        code: 'expired',
        message: expect.stringMatching(`^The id ${old} is too old: .+ under a new id`),
      },
    })
    expect(await tell(young, [old])).toEqual({
      error: {
        code: 'expired',
        message: expect.stringMatching(`The required transaction ${old} is too old: .+ without requiring it`),
      },
    })
  })
})

describe('what nobody has forgotten is judged:', async () => {
  test.each([
    ['an id as old as the horizon', young],
    ['an id that tells no time', 'a'],
    ['a UUID of another version', '00000000-0000-4000-8000-000000000000'],
  ])('%s', async (_, id) => {
    expect(await decided(id)).toEqual([9, 'kept'])
  })

  test('an old one, where verdicts are kept for ever', async () => {
    expect(await decided(idAt(0), { verdictHorizon: 0 })).toEqual([9, 'kept'])
  })

  test('one that requires a rejected one, or one that is unheard of', async () => {
    const rejection = ['dependency_rejected', 'kept']
    expect(await decided(young, { requires: [old], kept: { [old]: rejected } })).toEqual(rejection)
    for (const required of [idAt(horizon + 1), 'a']) {
      expect(await decided(young, { requires: [required] })).toEqual(rejection)
    }
  })
})

test('when a UUID of version 7 was made is read from it, in small letters and in capitals', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), (at) => {
      const id = idAt(at)
      expect([madeAt(id), madeAt(id.toUpperCase())]).toEqual([at, at])
    }),
  )
})

test.each([
  '',
  'a',
  '019ac1f0-5d4c-4b1e-9c55-2f0d2f6f8a10',
  '019ac1f0-5d4c-7b1e-cc55-2f0d2f6f8a10',
  '019ac1f0-5d4c-7b1e-9c55-2f0d2f6f8a10\n',
  ' 019ac1f0-5d4c-7b1e-9c55-2f0d2f6f8a10',
  '019ac1f05d4c7b1e9c552f0d2f6f8a10',
])('what is no UUID of version 7 tells no time: %j', (id) => {
  expect(madeAt(id)).toBeUndefined()
})
