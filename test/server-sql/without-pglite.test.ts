import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { silentLogger } from '../../src/index.ts'
import { openSqlLog } from '../../src/server/index.ts'

vi.mock('@electric-sql/pglite', () => {
  throw new Error('It is not there.')
})

test('without the package for a folder, the error names the package, and no files are created', async () => {
  const warn = vi.fn()
  const folder = join(tmpdir(), `instep-without-${process.pid}`)
  const opened = openSqlLog(folder, { logger: { ...silentLogger, warn } })
  await expect(opened).rejects.toMatchObject({ name: 'ConfigurationError', option: '@electric-sql/pglite' })
  expect(warn).not.toHaveBeenCalled()
  expect(existsSync(folder)).toBe(false)
})
