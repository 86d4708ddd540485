import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/** Starts an example in an empty folder, and returns how it ended and what is in the folder. */
function run(example: string, ...args: readonly string[]) {
  const start = fileURLToPath(new URL(`../../examples/${example}/start.mjs`, import.meta.url))
  expect(existsSync(start)).toBe(true)
  const cwd = mkdtempSync(join(tmpdir(), 'instep-arguments-'))
  const { status, stderr, stdout } = spawnSync(process.execPath, [start, ...args], { cwd, encoding: 'utf8' })
  return { status, stderr, stdout, files: readdirSync(cwd) }
}

describe.each(['teams', 'team-app'])('the example %s', (example) => {
  test.each([
    ['an unknown option', ['--prot', '5301'], "Unknown option '--prot'"],
    ['a port that is no number', ['--port', 'high'], '--port must be a whole number from 0 to 65535.'],
    ['two databases', ['one', 'two'], 'There is one database at most; two is one too many.'],
  ])('refuses %s, and creates nothing', (_, args, sentence) => {
    const { status, stderr, files } = run(example, ...args)
    expect(status).toBe(2)
    expect(stderr).toContain(sentence)
    expect(stderr).toContain('Usage: npm run')
    expect(files).toEqual([])
  })

  test('--help says how to start it', () => {
    const { status, stdout } = run(example, '--help')
    expect(status).toBe(0)
    expect(stdout).toContain(`Usage: npm run ${example}`)
  })
})
