import { ConfigurationError, wrongOption } from '../base/errors.ts'
import { isObject, isPlain, type JsonValue, jsonEqual } from '../protocol/json.ts'
import { isTextCondition } from './collated.ts'
import { compareKinds, compareValues, sortsLast } from './values.ts'
import type { Condition } from './where.ts'

type Value = JsonValue | undefined

/** One test of a field's value. */
export interface FieldTest {
  readonly accepts: (value: Value) => boolean
  /**
   * The position of a value relative to the accepted values: before them (-1), among them (0) or after them (1).
   * Missing unless the accepted values form one range of the order.
   */
  readonly place?: (value: unknown) => number
  /** All accepted values, if the test lists them. */
  readonly values?: readonly JsonValue[]
}

interface Operator {
  readonly takes: string
  /** Returns `undefined` if the operand is not of the kind that `takes` describes. */
  read(operand: unknown): FieldTest | undefined
}

const json = 'a JSON value'

const operators: { readonly [Name in keyof Condition]-?: Operator } = {
  eq: { takes: json, read: (x) => (isJson(x) ? equality(x) : undefined) },
  ne: { takes: json, read: (x) => (isJson(x) ? { accepts: (value) => !isEqual(value, x) } : undefined) },
  in: { takes: 'a list of JSON values', read: (x) => (isJsonList(x) ? membership(x) : undefined) },
  gt: comparison((order) => order > 0, -1),
  gte: comparison((order) => order >= 0, -1),
  lt: comparison((order) => order < 0, 1),
  lte: comparison((order) => order <= 0, 1),
  startsWith: { takes: 'a string', read: (x) => (typeof x === 'string' ? prefix(x) : undefined) },
  contains: {
    takes: json,
    read: (x) => (isJson(x) ? { accepts: (value) => contains(value, x) } : undefined),
  },
}

/** Returns the tests for `condition`. Throws a ConfigurationError that names `option` if `condition` is not valid. */
export function readCondition(condition: unknown, option: string): readonly FieldTest[] {
  if (isTextCondition(condition)) return [condition]
  if (!isJson(condition)) throw wrongOption(option, 'must be JSON.')
  if (!isObject(condition)) return [equality(condition)]
  const demanded = Object.entries(condition).filter(([, operand]) => operand !== undefined)
  return demanded.map(([name, operand]) => {
    if (!isOperator(name)) {
      throw wrongOption(
        option,
        `has no operator \`${name}\`; expected one of ${Object.keys(operators).join(', ')}.`,
      )
    }
    const { takes, read } = operators[name]
    const test = read(operand)
    if (!test) throw new ConfigurationError(option, `\`${option}.${name}\` must be ${takes}.`)
    return test
  })
}

function isOperator(name: string): name is keyof Condition {
  return Object.hasOwn(operators, name)
}

function equality(operand: JsonValue): FieldTest {
  if (sortsLast(operand)) return { accepts: (value) => isEqual(value, operand), values: [operand] }
  return { ...rangeTest((value) => compareValues(value, operand)), values: [operand] }
}

function membership(operands: readonly JsonValue[]): FieldTest {
  const plain = new Set<Value>(operands)
  return {
    accepts: (value = null) =>
      plain.has(value) || (typeof value === 'object' && operands.some((operand) => isEqual(value, operand))),
    values: operands,
  }
}

function comparison(isWithin: (order: number) => boolean, beyond: -1 | 1): Operator {
  return {
    takes: 'a string or a number',
    read: (x) =>
      typeof x === 'string' || (typeof x === 'number' && !Number.isNaN(x))
        ? rangeTest((value) => compareKinds(value, x) || (isWithin(compareValues(value, x)) ? 0 : beyond))
        : undefined,
  }
}

function prefix(operand: string): FieldTest {
  return rangeTest((value) =>
    typeof value === 'string' && value.startsWith(operand) ? 0 : compareValues(value, operand),
  )
}

function rangeTest(place: (value: unknown) => number): FieldTest {
  return { accepts: (value) => place(value) === 0, place }
}

function contains(value: Value, part: JsonValue): boolean {
  if (typeof value === 'string') return typeof part === 'string' && value.includes(part)
  return Array.isArray(value) && value.some((element) => jsonEqual(element, part))
}

function isEqual(a: Value = null, b: Value = null): boolean {
  return jsonEqual(a, b)
}

function isJsonList(value: unknown): value is readonly JsonValue[] {
  return Array.isArray(value) && value.every(isJson)
}

/** Whether `value` itself is JSON. Nested values are not checked. */
function isJson(value: unknown): value is JsonValue {
  if (value === null || Array.isArray(value)) return true
  return typeof value === 'object' ? isPlain(value) : ['string', 'number', 'boolean'].includes(typeof value)
}
