import { expect, test } from 'vitest'
import { corpus } from './corpus.ts'
import { run } from './run.ts'

test.each(corpus)('%s', async (_, plan) => {
  const { faults } = await run(plan)
  expect(faults).toEqual([])
})
