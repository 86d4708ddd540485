import { describe, expect, test } from 'vitest'
import * as z from 'zod/mini'
import { collation, defineModels, model } from '../../src/index.ts'
import type { Index } from '../../src/models/model.ts'
import type { QuerySpec } from '../../src/records/query-spec.ts'
import { apply, replicaOf, row, t } from '../support/replica-fixtures.ts'

const words = ['Zebra', '10', 'apple', 'Äpfel', '9', 'Apple']
const german = collation('de', { numeric: true })
const ordered = ['9', '10', 'Äpfel', 'apple', 'Apple', 'Zebra']

function replicaOfTitles(titles: readonly unknown[], indexes: readonly Index[] = []) {
  return replicaOf(
    titles.map((title, n) => row(`${n}`, { title } as { title: string })),
    indexes,
  )
}

describe.each([
  ['without an index', []],
  ['with an index', [[german.by('title')]] as const],
])('a query ordered by a collation, %s', (_, indexes) => {
  test('orders texts as the language does, in both directions', () => {
    const { replica } = replicaOfTitles(words, indexes)
    const titles = (spec: QuerySpec) => replica.query(t, spec).rows.map(({ title }) => title)
    expect(titles({ orderBy: german.by('title') })).toEqual(ordered)
    expect(titles({ orderBy: [[german.by('title'), 'desc']] })).toEqual(ordered.toReversed())
    expect(titles({ orderBy: [german.by('title')], limit: 2 })).toEqual(['9', '10'])
  })

  test('pages by its cursor, which is plain data', () => {
    const { replica } = replicaOfTitles(words, indexes)
    const titles: unknown[] = []
    for (let after: QuerySpec['after']; titles.length < words.length; ) {
      const page = replica.query(t, { orderBy: german.by('title'), limit: 2, after })
      titles.push(...page.rows.map(({ title }) => title))
      after = JSON.parse(JSON.stringify(page.cursor))
    }
    expect(titles).toEqual(ordered)
  })

  test('keeps its result up to date', () => {
    const { replica } = replicaOfTitles(words, indexes)
    const query = replica.query(t, { orderBy: german.by('title'), limit: 3 })
    let calls = 0
    query.subscribe(() => {
      calls += 1
    })
    apply(replica, row('0', { title: 'zebra' }))
    expect(calls).toBe(0)
    apply(replica, row('0', { title: 'aal' }))
    expect(calls).toBe(1)
    expect(query.rows.map(({ title }) => title)).toEqual(['9', '10', 'aal'])
  })

  test('puts numbers first and missing values last', () => {
    const { replica } = replicaOfTitles(['b', null, 2, true, 'A', 1], indexes)
    const titles = (direction: 'asc' | 'desc') =>
      replica.query(t, { orderBy: [[german.by('title'), direction]] }).rows.map(({ title }) => title)
    expect(titles('asc')).toEqual([1, 2, 'A', 'b', true, null])
    expect(titles('desc')).toEqual([true, 'b', 'A', 2, 1, null])
  })
})

test('an index by a collation serves the queries that are ordered by it, and reads few records', () => {
  let reads = 0
  const payloadOf = (n: number) => ({
    get title() {
      reads += 1
      return `Title ${n}`
    },
    group: n % 2,
  })
  const rows = Array.from({ length: 10_000 }, (_, n) => row(`r${n}`, payloadOf(n)))
  const { replica } = replicaOf(rows, [['group', german.by('title')]])
  const query = replica.query(t, { where: { group: 1 }, orderBy: german.by('title'), limit: 2 })
  reads = 0
  expect(query.rows.map(({ id }) => id)).toEqual(['r1', 'r3'])
  expect(reads).toBeLessThan(200)
})

test('a condition on the field itself goes by code units, also beside an index by a collation', () => {
  const { replica } = replicaOfTitles(words, [[german.by('title')]])
  const titles = (where: QuerySpec['where']) =>
    replica.query(t, { where, orderBy: german.by('title') }).rows.map(({ title }) => title)
  expect(titles({ title: 'Apple' })).toEqual(['Apple'])
  expect(titles({ title: { gte: 'a' } })).toEqual(['Äpfel', 'apple'])
})

describe('`contains` of a collation', () => {
  const { replica } = replicaOf([
    ...['Äpfel', 'Apple pie', 'Straße', 'café', 'cafe\u0301', 'Ångström', 'ΟΔΥΣΣΕΥΣ'].map((title) =>
      row(title, { title }),
    ),
    row('tags', { title: ['Über', 'APP'] }),
    row('number', { title: 7 }),
  ])
  const found = (title: ReturnType<typeof german.contains>) =>
    replica.query(t, { where: { title } }).rows.map(({ id }) => id)

  test.each([
    ['APP', ['Apple pie', 'tags']],
    ['apf', ['Äpfel']],
    ['STRASSE', ['Straße']],
    ['CAFÉ', ['café', 'cafe\u0301']],
    ['odysseus', []],
    ['οδυσσευς', ['ΟΔΥΣΣΕΥΣ']],
    ['ber', []],
    ['uber', ['tags']],
    ['7', []],
  ])('finds %s regardless of case and accents', (part, ids) => {
    expect(found(german.contains(part)).sort()).toEqual(ids.toSorted())
  })

  test('keeps letters apart that are different ones in the language', () => {
    expect(found(german.contains('ang'))).toEqual(['Ångström'])
    expect(found(collation('sv').contains('ang'))).toEqual([])
    expect(found(collation('sv').contains('ång'))).toEqual(['Ångström'])
  })

  test('obeys the sensitivity of the collation', () => {
    expect(found(collation('de', { sensitivity: 'accent' }).contains('äPF'))).toEqual(['Äpfel'])
    expect(found(collation('de', { sensitivity: 'accent' }).contains('apf'))).toEqual([])
    expect(found(collation('de', { sensitivity: 'variant' }).contains('äpf'))).toEqual([])
  })

  test('is one condition among others, and can be counted', () => {
    const part = german.contains('APP')
    expect(replica.count(t, { title: part })).toBe(2)
    expect(replica.count(t, { not: { title: part } })).toBe(7)
    expect(replica.count(t, { or: [{ title: 7 }, { title: part }], id: { ne: 'tags' } })).toBe(2)
  })
})

test('a wrong locale or option of a collation is refused by a sentence', () => {
  const refused = {
    name: 'ConfigurationError',
    message: '`collation` is refused by `Intl.Collator`.',
  }
  expect(() => collation('no locale')).toThrow(expect.objectContaining(refused))
})

test('models take collated fields in their indexes, and no other objects', () => {
  const schema = z.object({ title: z.string(), status: z.string() })
  const { types } = defineModels({
    Issue: model(schema, { indexes: [german.by('title'), ['status', german.by('title')]] }),
  })
  expect(types.get('Issue')?.indexes).toEqual([[german.by('title')], ['status', german.by('title')]])
  const wrong = [{ field: 'title' }] as unknown as readonly 'title'[]
  expect(() => defineModels({ Issue: model(schema, { indexes: wrong }) })).toThrow('`models.Issue.indexes`')
})
