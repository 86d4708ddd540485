import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseSlice } from '../../src/network/raw-slice.ts'
import { SnapshotScanner } from '../../src/network/scanner.ts'

const run = promisify(execFile)
let folder: string
let script: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'instep-scanner-'))
  script = join(folder, 'memory.mjs')
  const entry = fileURLToPath(new URL('../support/transport-memory.ts', import.meta.url))
  await build({ entryPoints: [entry], outfile: script, bundle: true, platform: 'node', format: 'esm' })
})

afterAll(() => rm(folder, { recursive: true }))

describe('a snapshot of 300 MB needs less than 150 MB of memory', () => {
  test.concurrent.each([
    'rows',
    'large rows',
    'rows too deep',
    'an unknown string',
    'an unknown array',
    'an endless key',
  ])('%s', async (shape) => {
    // The limit of the heap makes an engine collect what it can, and end the process where it cannot.
    const { stdout } = await run(process.execPath, ['--max-old-space-size=120', script, shape])
    expect(Number(stdout)).toBeGreaterThan(0)
    expect(Number(stdout)).toBeLessThan(150)
  })
})

test('four million chunks of one byte take linear time', () => {
  const bytes = new TextEncoder().encode(
    `{"sid":1,"rows":[{"t":"a","id":"1","p":{"x":"${'x'.repeat(4_000_000)}"}}]}`,
  )
  let rows = 0
  const scanner = new SnapshotScanner(2 ** 24, (buffer, cut) => {
    rows += parseSlice(buffer.take(), cut).rows.length
  })
  for (let at = 0; at < bytes.length; at += 1) scanner.push(bytes.subarray(at, at + 1))
  scanner.end()
  expect(rows).toBe(1)
})
