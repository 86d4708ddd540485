import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type BenchResult, plotOf } from '../../bench/plot.mjs'
import { root } from './documents.ts'

const read = (path: string) => readFileSync(root + path, 'utf8')
const result: BenchResult = JSON.parse(read('bench/result.json'))

test('the plot of docs/performance.md is that of the result that is kept', () => {
  expect(read('docs/performance.svg')).toBe(plotOf(result))
})

test.each(['README.md', 'docs/performance.md'])('the table of %s has the figures of that result', (path) => {
  const number = (value = 0) => new Intl.NumberFormat('en').format(value).replaceAll(',', ' ')
  const page = read(path)
  expect(Object.keys(result.figures)).toContain('Instep')
  for (const [name, figure] of Object.entries(result.figures)) {
    const deltas = ['delta 1', 'delta 100', 'delta 5000'].map((column) => number(figure[column]))
    const row = page.split('\n').find((line) => line.startsWith(`| ${name}`)) ?? ''
    const cells = row.split('|').map((cell) => cell.trim())
    expect(cells.slice(2, 6)).toEqual([
      number(figure['first sync']),
      number(figure['start-up']),
      deltas.join(' / '),
      number(figure['live query']),
    ])
  }
})
