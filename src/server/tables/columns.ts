import { type RawBuilder, sql } from 'kysely'
import { type JsonValue, maxDepth } from '../../protocol/json.ts'

/** How the values of a column become JSON and come back. */
export interface Conversion {
  /**
   * The JSON of a value, as an expression of the type `json`. `column`: an expression in SQL. `levels`: the number of
   * arrays around the value.
   */
  toJson(column: string, levels?: number): string
  /** A value of the column, from an expression of the type `text` that {@link textOf} has made. */
  fromText(text: Expression): Expression
  /** The text of a value from a client: `null` for null, and `undefined` if the column cannot take the value. */
  textOf(value: JsonValue): string | null | undefined
}

type Expression = RawBuilder<unknown>

/** A type of PostgreSQL. */
export interface ColumnType {
  /** The name in `pg_type`, of the base type if it is a domain; of the element if it is an array. */
  readonly name: string
  /** The name for a cast, with its schema if necessary. */
  readonly cast: string
  readonly isEnum: boolean
  readonly isArray: boolean
  /** Whether a double holds each value: only of a `numeric` with at most 15 digits. */
  readonly isDouble?: boolean
}

const quoted = (value: JsonValue) => (typeof value === 'string' ? value : undefined)
const whole = (value: JsonValue) => (Number.isSafeInteger(value) ? String(value) : undefined)
const real = (value: JsonValue) => (typeof value === 'number' ? String(value) : undefined)
/**
 * The maximum exponent of a `numeric` from a client: a double has less. With it, some characters of text would become
 * 131 072 digits.
 */
const maxExponent = 400

/** The maximum number of digits of a `numeric`, before and after the point. A row with more is set aside. */
export const maxDigits = 1_000

/** The maximum length of other spellings, such as `NaN` or hexadecimal digits. */
const maxOddLength = 300

const decimal = (value: JsonValue) => {
  const text = String(value).replaceAll('_', '')
  const [, exponent = '0'] = /e([-+]?\d+)/i.exec(text) ?? []
  const moved = Number(exponent)
  if (Math.abs(moved) > maxExponent) return undefined
  const [, whole, part = ''] = /^\s*[-+]?(\d*)\.?(\d*)(?:e[-+]?\d+)?\s*$/i.exec(text) ?? []
  const isFew =
    whole === undefined
      ? text.length <= maxOddLength
      : Math.max(whole.length + moved, part.length - moved) <= maxDigits
  return isFew ? quoted(value) : undefined
}
const truth = (value: JsonValue) => (typeof value === 'boolean' ? String(value) : undefined)

type Scalar = Omit<Conversion, 'textOf'> & { textOf(value: JsonValue): string | undefined }

const castTo = (type: string) => (text: Expression) => sql`${text}::${sql.raw(type)}`

/** A type that PostgreSQL itself converts to JSON. */
function plain(cast: string, textOf: Scalar['textOf']): Scalar {
  return { toJson: (column) => `to_json(${column})`, fromText: castTo(cast), textOf }
}

/** A type whose JSON is its text. */
function text(cast: string): Scalar {
  return {
    toJson: (column) => `to_json(${column}::text)`,
    fromText: castTo(cast),
    textOf: quoted,
  }
}

/** A type with values that JSON or a client cannot hold: these become null. */
function finite(scalar: Scalar, hasJson: (column: string) => string): Scalar {
  return {
    ...scalar,
    toJson: (column, levels) => `case when ${hasJson(column)} then ${scalar.toJson(column, levels)} end`,
  }
}

const isNumber = (column: string) => `${column}::text not in ('NaN', 'Infinity', '-Infinity')`
const isTime = (column: string) => `isfinite(${column})`

/** From here on, a double cannot distinguish microseconds: in the year 2248. */
const maxExactMs = 2 ** 43

/** Milliseconds since the epoch, with the microseconds as a fraction as long as a double holds them. */
function moment(type: 'timestamp' | 'timestamptz'): Scalar {
  const ms = (column: string) =>
    `(extract(epoch from date_trunc('second', ${column}))::numeric * 1000
      + extract(microseconds from ${column})::int8 % 1000000 / 1000.0)`
  return {
    toJson: (column) =>
      `to_json((case when abs(${ms(column)}) < ${maxExactMs} then ${ms(column)} else floor(${ms(column)}) end)::float8)`,
    fromText: (text) => sql`(${sql.raw(type)} 'epoch' + ${text}::float8 * interval '1 millisecond')`,
    textOf: real,
  }
}

/** Shorter text nests less deeply than clients allow, and has no number beyond a double. */
const alwaysSoundBytes = 300

/**
 * Whether clients take a `jsonb`: it has no key `__proto__`, no number beyond a double, and does not nest too deeply in
 * a row, whose fields are two levels below it. Must not look deeper than that: the stack is limited.
 */
function isSound(jsonb: string, levels = 0): string {
  const text = `${jsonb}::text`
  const deepest = maxDepth - 2 - levels
  const number = `strict $.**{0 to ${deepest}} ? (@.type() == "number" && (@ > 1.7976931348623158e308 || @ < -1.7976931348623158e308))`
  const nested = `strict $.**{${deepest}} ? (@.type() == "array" || @.type() == "object")`
  return `${text} not like '%"\\_\\_proto\\_\\_"%' and (octet_length(${text}) <= ${alwaysSoundBytes}
    or not (jsonb_path_exists(${jsonb}, '${nested}') or jsonb_path_exists(${jsonb}, '${number}')))`
}

const maxSafe = Number.MAX_SAFE_INTEGER
const isSafe = (column: string) => `${column} between -${maxSafe} and ${maxSafe}`

/** By the name of the type in PostgreSQL. */
const scalars: Readonly<Record<string, Scalar>> = {
  bool: plain('boolean', truth),
  int2: plain('int2', whole),
  int4: plain('int4', whole),
  int8: text('int8'),
  float4: finite(plain('float4', real), isNumber),
  float8: finite(plain('float8', real), isNumber),
  numeric: finite({ ...text('numeric'), textOf: decimal }, isNumber),
  // Without the length of the type: a cast to it would cut a text that is too long, and the column refuses it.
  text: text('text'),
  varchar: text('text'),
  bpchar: text('text'),
  citext: text('text'),
  name: text('text'),
  uuid: text('uuid'),
  date: finite({ ...text('date'), toJson: (column) => `to_json(${column})` }, isTime),
  time: text('time'),
  timetz: text('timetz'),
  interval: text('interval'),
  inet: text('inet'),
  cidr: text('cidr'),
  timestamp: finite(moment('timestamp'), isTime),
  timestamptz: finite(moment('timestamptz'), isTime),
  jsonb: {
    toJson: (column, levels) => `case when ${isSound(column, levels)} then ${column}::json end`,
    fromText: castTo('jsonb'),
    textOf: (value) => JSON.stringify(value),
  },
}

/** The types that a key can have: each value has exactly one text form, and equal values have the same one. */
const keyTypes = ['text', 'varchar', 'uuid', 'int2', 'int4', 'int8']

export function isKeyType({ name, isArray, isEnum }: ColumnType): boolean {
  return !isArray && !isEnum && keyTypes.includes(name)
}

/** Whether `id` is exactly the text form of a value of this key type. */
export function isKeyText({ name }: ColumnType, id: string): boolean {
  if (name === 'uuid') return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)
  if (!name.startsWith('int')) return true
  const bits = BigInt(8 * Number(name.slice(3)))
  return /^(0|-?[1-9]\d{0,18})$/.test(id) && BigInt.asIntN(Number(bits), BigInt(id)) === BigInt(id)
}

export interface ConversionOptions {
  /** Whether an `int8` or a `numeric` is a number. */
  readonly asNumber: boolean
  /** The name of the function that returns a `json` as `jsonb`, or null if that is not possible. */
  readonly jsonFunction: string
}

/** The conversion of a type, or `undefined` if the type has none. */
export function conversionOf(type: ColumnType, options: ConversionOptions): Conversion | undefined {
  const scalar = scalarOf(type, options)
  if (!scalar) return undefined
  return orNull(type.isArray ? arrayOf(scalar, type) : scalar)
}

function scalarOf(type: ColumnType, { asNumber, jsonFunction }: ConversionOptions): Scalar | undefined {
  if (type.isEnum) return text(type.cast)
  if (asNumber && type.name === 'numeric' && type.isDouble) return finite(plain('numeric', real), isNumber)
  if (asNumber && type.name !== 'int8') return undefined
  if (asNumber) return finite(plain('int8', whole), isSafe)
  if (type.name === 'json') return jsonScalar(jsonFunction)
  return Object.hasOwn(scalars, type.name) ? scalars[type.name] : undefined
}

/** A `json` may hold text that `jsonb` and clients refuse: it becomes null. */
function jsonScalar(jsonFunction: string): Scalar {
  const jsonb = (column: string) => `${jsonFunction}(${column})`
  return {
    toJson: (column, levels) =>
      `case when ${jsonb(column)} is not null and ${isSound(jsonb(column), levels)} then ${column} end`,
    fromText: castTo('json'),
    textOf: (value) => JSON.stringify(value),
  }
}

function arrayOf(scalar: Scalar, { cast }: ColumnType): Scalar {
  return {
    toJson: (column) =>
      `case when ${column} is not null then coalesce((select json_agg(${scalar.toJson('e.v', 1)} order by e.n) ` +
      `from unnest(${column}) with ordinality as e(v, n)), '[]') end`,
    fromText: (text) =>
      sql`array(select ${scalar.fromText(sql`e.v`)} from json_array_elements_text(${text}::json) with ordinality
        as e(v, n) order by e.n)::${sql.raw(cast)}[]`,
    textOf(value) {
      if (!Array.isArray(value)) return undefined
      const items = value.map((item: JsonValue) => (item === null ? null : scalar.textOf(item)))
      return items.includes(undefined) ? undefined : JSON.stringify(items)
    },
  }
}

function orNull(scalar: Scalar): Conversion {
  return { ...scalar, textOf: (value) => (value === null ? null : scalar.textOf(value)) }
}
