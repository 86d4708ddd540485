import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runChild } from '../support/child.ts'
import type { CutReport } from './power-cut-writer.ts'

const cuts = 6
const writes = 120

let root = ''
let reports: readonly CutReport[] = []

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'instep-power-'))
  reports = await reportsOfCuts()
}, 300_000)

/** What became of a folder at each cut. */
async function reportsOfCuts(): Promise<readonly CutReport[]> {
  const args = [root, String(cuts), String(writes), '1']
  const child = await runChild<CutReport | { readonly done: true }>(
    'test/server-sql/power-cut-writer.ts',
    args,
  )
  const said: CutReport[] = []
  for (;;) {
    const next = await child.next()
    if ('done' in next) return said
    said.push(next)
  }
}

afterAll(() => {
  rmSync(root, { recursive: true, force: true })
})

test('the power is cut at six moments, while a folder is created, written to and closed', () => {
  const answered = reports.map((report) => report.answered)
  expect(reports.length).toBeGreaterThanOrEqual(cuts)
  expect(Math.max(...answered)).toBe(writes)
  expect(new Set(answered).size).toBeGreaterThan(3)
})

test('invariant 18: a power cut loses no transaction that a folder has answered', () => {
  expect(reports.filter(({ isOpened }) => !isOpened)).toEqual([])
  expect(reports.flatMap(({ lost }) => lost)).toEqual([])
})

test('after a power cut, a repeated transaction is applied once, with the same sid', () => {
  expect(reports.flatMap(({ moved }) => moved)).toEqual([])
  for (const { changes, records } of reports) {
    expect(records).toBe(changes)
  }
})

test('a folder starts a new history after a power cut, unless it was closed before', () => {
  const renamed = (phase: CutReport['phase']) =>
    new Set(reports.filter((report) => report.phase === phase).map(({ isRenamed }) => isRenamed))
  expect(renamed('open')).toEqual(new Set([true]))
  expect(renamed('closed')).toEqual(new Set([false]))
})
