import { expect, test, vi } from 'vitest'
import { called, secret } from './command-line.ts'

vi.mock('jose', () => {
  throw Object.assign(new Error('It is not there.'), { code: 'ERR_MODULE_NOT_FOUND' })
})

test('without the package that checks tokens, `serve` does not start and names it', async () => {
  const env = { INSTEP_JWT_SECRET: secret }
  const { code, stdout, stderr } = await called(['serve', '--port', '0', '--database', 'memory:'], env)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('`jose`')
})
