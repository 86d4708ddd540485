import { expect, test } from 'vitest'
import * as react from '../../src/react/index.ts'

test('the package exports only the typed hooks', () => {
  const { createHooks, ...hooks } = react
  expect(createHooks()).toEqual(hooks)
})
