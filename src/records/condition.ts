import { ConfigurationError, wrongOption } from '../base/errors.ts'
import { isObject, isPlain, type JsonValue, jsonEqual } from '../protocol/json.ts'
import type { Condition } from './query-spec.ts'
import { compareKinds, compareValues, isLast } from './values.ts'

type Value = JsonValue | undefined

/** One thing that a field's value must be. */
export interface FieldTest {
  readonly accepts: (value: Value) => boolean
  /** Where the accepted values are one stretch of the order: whether a value lies before (-1), in or behind it (1). */
  readonly place?: (value: unknown) => number
  /** All accepted values, where it says them one by one. */
  readonly values?: readonly JsonValue[]
}

interface Operator {
  readonly takes: string
  /** Gives nothing where the operand is not what it takes. */
  read(operand: unknown): FieldTest | undefined
}

const json = 'a JSON value'

const operators: { readonly [Name in keyof Condition]-?: Operator } = {
  eq: { takes: json, read: (x) => (isJson(x) ? equality(x) : undefined) },
  ne: { takes: json, read: (x) => (isJson(x) ? { accepts: (value) => !same(value, x) } : undefined) },
  in: { takes: 'a list of JSON values', read: (x) => (isJsonList(x) ? membership(x) : undefined) },
  gt: bound((order) => order > 0, -1),
  gte: bound((order) => order >= 0, -1),
  lt: bound((order) => order < 0, 1),
  lte: bound((order) => order <= 0, 1),
  startsWith: { takes: 'a string', read: (x) => (typeof x === 'string' ? prefix(x) : undefined) },
  contains: { takes: json, read: (x) => (isJson(x) ? { accepts: (value) => holds(value, x) } : undefined) },
}

/** What `condition` demands of a field. Throws a ConfigurationError that names `option` where it is none. */
export function readCondition(condition: unknown, option: string): readonly FieldTest[] {
  if (!isJson(condition)) throw wrongOption(option, 'is not JSON.')
  if (!isObject(condition)) return [equality(condition)]
  const demanded = Object.entries(condition).filter(([, operand]) => operand !== undefined)
  return demanded.map(([name, operand]) => {
    if (!isOperator(name)) {
      throw wrongOption(
        option,
        `has no operator \`${name}\`; there are ${Object.keys(operators).join(', ')}.`,
      )
    }
    const { takes, read } = operators[name]
    const test = read(operand)
    if (!test) throw new ConfigurationError(option, `\`${option}.${name}\` is not ${takes}.`)
    return test
  })
}

function isOperator(name: string): name is keyof Condition {
  return Object.hasOwn(operators, name)
}

function equality(operand: JsonValue): FieldTest {
  if (isLast(operand)) return { accepts: (value) => same(value, operand), values: [operand] }
  return { ...stretch((value) => compareValues(value, operand)), values: [operand] }
}

function membership(operands: readonly JsonValue[]): FieldTest {
  const plain = new Set<Value>(operands)
  return {
    accepts: (value = null) =>
      plain.has(value) || (typeof value === 'object' && operands.some((operand) => same(value, operand))),
    values: operands,
  }
}

function bound(within: (order: number) => boolean, beyond: -1 | 1): Operator {
  return {
    takes: 'a string or a number',
    read: (x) =>
      typeof x === 'string' || (typeof x === 'number' && !Number.isNaN(x))
        ? stretch((value) => compareKinds(value, x) || (within(compareValues(value, x)) ? 0 : beyond))
        : undefined,
  }
}

function prefix(operand: string): FieldTest {
  return stretch((value) =>
    typeof value === 'string' && value.startsWith(operand) ? 0 : compareValues(value, operand),
  )
}

function stretch(place: (value: unknown) => number): FieldTest {
  return { accepts: (value) => place(value) === 0, place }
}

function holds(value: Value, part: JsonValue): boolean {
  if (typeof value === 'string') return typeof part === 'string' && value.includes(part)
  return Array.isArray(value) && value.some((element) => jsonEqual(element, part))
}

function same(a: Value = null, b: Value = null): boolean {
  return jsonEqual(a, b)
}

function isJsonList(value: unknown): value is readonly JsonValue[] {
  return Array.isArray(value) && value.every(isJson)
}

/** Whether `value` is of a kind that JSON has; what it nests is not looked at. */
function isJson(value: unknown): value is JsonValue {
  if (value === null || Array.isArray(value)) return true
  return typeof value === 'object' ? isPlain(value) : ['string', 'number', 'boolean'].includes(typeof value)
}
