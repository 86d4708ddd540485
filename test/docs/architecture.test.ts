import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { forbidden, ranks } from '../architecture/ranks.ts'
import { blocksOf, readDocuments, root } from './documents.ts'

const document = { path: 'docs/architecture.md', text: '' }
document.text = readDocuments().find(({ path }) => path === document.path)?.text ?? ''

const read = (path: string) => readFileSync(root + path, 'utf8')

/** What `docs/architecture.md` lets a folder of `rank` import, without exceptions. */
function importsOf(rank: number): string {
  if (rank === 0) return 'nothing'
  if (rank === 1) return 'rank 0'
  return rank === 2 ? 'ranks 0 and 1' : `ranks 0 to ${rank - 1}`
}

/** The events that lead out of each state by the table in the source, as in `open lost`. */
function eventsInSource(file: string): readonly string[] {
  const [, table = ''] = /^const table: .+ = \{\n(.*?)^\}$/ms.exec(read(file)) ?? []
  return [...table.matchAll(/^ {2}(\w+): \{(.*?)\}?,?$(?:\n((?: {3,}.*\n)*) {2}\},$)?/gm)].flatMap(
    ([, state, inline = '', lines = '']) => {
      const names = inline.trim() === '' ? lines.matchAll(/^ {4}(\w+)[:,]/gm) : inline.matchAll(/^ (\w+):/g)
      return Array.from(names, ([, event]) => `${state} ${event}`)
    },
  )
}

/** The same by the drawing: a state, its events, an arrow, and the next state. */
function eventsDrawn(lines: readonly string[]): readonly string[] {
  let state = ''
  return lines.flatMap((line) => {
    const [, name, events = ''] = /^(\w*) +([\w, ]+?) ─*▶ \w+/.exec(line) ?? []
    state = name || state
    return events.split(', ').map((event) => `${state} ${event}`)
  })
}

describe('docs/architecture.md', () => {
  test('lists every folder with its rank and what it may import', () => {
    const rows = [...document.text.matchAll(/^\| `([\w-]+)` \| (\d+) \| .+ \| (.+?)(?: \((\d)\))? \|$/gm)]
    const listed = rows.map(([, folder, rank, imports]) => [folder, Number(rank), imports])
    expect(listed).toEqual(Object.entries(ranks).map(([name, rank]) => [name, rank, importsOf(rank)]))
  })

  test('names every exception to the ranks', () => {
    const notes = [...document.text.matchAll(/^(\d)\. But (.+?):/gms)]
    const exceptions = notes.flatMap(([, number, text = '']) => {
      const [, folder] =
        new RegExp(`^\\| \`([\\w-]+)\` .+\\(${number}\\) \\|$`, 'm').exec(document.text) ?? []
      return Array.from(text.matchAll(/`([\w-]+)`/g), ([, other]) => `${folder} → ${other}`)
    })
    expect([...exceptions].sort()).toEqual(forbidden.map(([from, to]) => `${from} → ${to}`).sort())
  })

  test('names classes and functions that are in their files', () => {
    const steps = [...document.text.matchAll(/^\d+\. `(src\/[\w/.-]+)`, `([\w.]+)`:/gm)]
    expect(steps.length).toBeGreaterThan(20)
    const missing = steps.filter(([, file = '', name = '']) => {
      const [owner = '', method] = name.split('.')
      const source = read(file)
      const isOwner = new RegExp(`^export (?:async )?(?:class|function|interface) ${owner}\\b`, 'm')
      const isMethod = new RegExp(`^ {2}(?:async )?${method}[(<]`, 'm')
      return !isOwner.test(source) || (method !== undefined && !isMethod.test(source))
    })
    expect(missing.map(([step]) => step)).toEqual([])
  })

  test.each(blocksOf(document).map(({ label, lines }) => [label, lines] as const))(
    'draws the states and events of %s',
    (file, lines) => {
      const events = eventsInSource(file)
      expect(events.length).toBeGreaterThan(5)
      expect([...eventsDrawn(lines)].sort()).toEqual([...events].sort())
    },
  )
})
