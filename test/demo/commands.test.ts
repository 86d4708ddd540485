import { expect, test } from 'vitest'
import { run } from './demo-process.ts'

test.each(['start.mjs', 'change.mjs'])('%s --help says what it does, and does nothing', async (file) => {
  const { code, output } = await run(file, '--help')
  expect(code).toBe(0)
  expect(output).toContain('npm run demo')
})

test('a country that has no towns is named, with exit code 1', async () => {
  const { code, errors } = await run('start.mjs', '--country', 'Iceland')
  expect(code).toBe(1)
  expect(errors).toContain('There are no towns in Iceland')
})

test('a change without a demo ends in one sentence and exit code 1', async () => {
  const { code, output, errors } = await run('change.mjs', '--url', 'http://127.0.0.1:1')
  expect(code).toBe(1)
  expect(output).toBe('')
  expect(errors.trim()).toMatch(/^No demo answers at http:\/\/127\.0\.0\.1:1; start it with .*\.$/)
})
