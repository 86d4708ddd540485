import { expect, test } from 'vitest'
import * as react from '../../src/react/index.ts'

test('the typed hooks are all there are', () => {
  const { createHooks, ...hooks } = react
  expect(createHooks()).toEqual(hooks)
})
