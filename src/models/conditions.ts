import { wrongOption } from '../base/errors.ts'
import { isObject } from '../protocol/json.ts'
import type { OrderField } from './collated.ts'
import { type FieldTest, readCondition } from './condition.ts'
import { fieldReader, type Row } from './values.ts'

/** A parsed `where`. A row has to pass all tests. */
export interface Conditions {
  /** The tests of each field, by its name. */
  readonly fields: ReadonlyMap<OrderField, readonly FieldTest[]>
  /** The tests of the whole row, from `or` and `not`. */
  readonly others: readonly RowTest[]
  readonly accepts: RowTest
}

type RowTest = (row: Row) => boolean

/** Parses `where`. Throws a ConfigurationError that names the invalid part, such as `where.title`. */
export function readWhere(where: unknown = {}, option = 'where'): Conditions {
  const fields = new Map<string, readonly FieldTest[]>()
  const others: RowTest[] = []
  const read = (part: unknown, path: string) => {
    if (!isObject(part)) throw wrongOption(path, 'must be an object.')
    for (const [name, value] of Object.entries(part)) {
      const inner = `${path}.${name}`
      if (value === undefined) continue
      if (name === 'and') for (const [index, each] of list(value, inner)) read(each, `${inner}.${index}`)
      else if (name === 'or') others.push(either(value, inner))
      else if (name === 'not') others.push(negation(value, inner))
      else {
        const tests = [...(fields.get(name) ?? []), ...readCondition(value, inner)]
        // Skip a field without tests: it would keep an index from serving the query.
        if (tests.length > 0) fields.set(name, tests)
      }
    }
  }
  read(where, option)
  const fieldTests = [...fields].map(([field, tests]) => ({ read: fieldReader(field), tests }))
  const accepts = (row: Row) =>
    fieldTests.every(({ read, tests }) => {
      const value = read(row)
      return tests.every((test) => test.accepts(value))
    }) && others.every((test) => test(row))
  return { fields, others, accepts }
}

function either(value: unknown, option: string): RowTest {
  const parts = list(value, option).map(([index, part]) => readWhere(part, `${option}.${index}`))
  return (row) => parts.some((part) => part.accepts(row))
}

function negation(value: unknown, option: string): RowTest {
  const { accepts } = readWhere(value, option)
  return (row) => !accepts(row)
}

function list(value: unknown, option: string): readonly (readonly [index: number, item: unknown])[] {
  if (!Array.isArray(value)) throw wrongOption(option, 'must be a list of conditions.')
  return [...value.entries()]
}
