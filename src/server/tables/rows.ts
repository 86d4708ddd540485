import { maxNameLength } from '../../protocol/json-copy.ts'
import { maxRecordBytes } from '../log/check-size.ts'
import { maxDigits } from './columns.ts'
import { conditionOf, type MappedTable } from './inspect.ts'
import { identifier, literal } from './quote.ts'

/* The rows of a table as records, in SQL. `row`: the alias of the table in the statement. */

/** The id of a record. */
export function idOf({ mapping }: MappedTable, row: string): string {
  return `${row}.${identifier(mapping.id)}::text`
}

/** A key as a value of its column. `text` is an expression. */
export function keyOf({ key }: MappedTable, text: string): string {
  return `${text}::${key.cast}`
}

/** The condition for the row of a key. */
export function hasKey(table: MappedTable, row: string, text: string): string {
  return `${row}.${identifier(table.mapping.id)} = ${keyOf(table, text)}`
}

/** The fields of a record, as `json`. */
export function payloadOf({ mapping, fields }: MappedTable, row: string): string {
  const owner = { field: mapping.ownerField, json: `to_json(${ownerText(mapping, row)})` }
  const others = fields.map(({ field, column, conversion }) => {
    return { field, json: conversion.toJson(`${row}.${identifier(column)}`) }
  })
  // By hand, since a function takes 100 arguments at most, and a column may have a name of 63 bytes at most.
  const members = [owner, ...others].map(({ field, json }, index) => {
    const name = `${index === 0 ? '{' : ','}${JSON.stringify(field)}:`
    return `${literal(name)} || coalesce((${json})::text, 'null')`
  })
  return `(${members.join(' || ')} || '}')::json`
}

/** The reasons for which a row that has an owner cannot be a record. */
const reasons = {
  name: `Its id or owner is empty, \`__proto__\`, or longer than ${maxNameLength} characters.`,
  digits: `A number in it has more than ${maxDigits} digits.`,
  long: `It is longer than ${maxRecordBytes / 1_048_576} MiB.`,
}

/**
 * A select of `id`, `owner`, `p` and `aside` for the rows of a table. `owner` is null if a row belongs to nobody, or
 * cannot be sent to a client: then `aside` says why. `lock`: locks the rows.
 */
export function recordsIn(table: MappedTable, where: string, lock = false): string {
  const { mapping, relation } = table
  // Other names than the columns of the row would be those of the statement around it: see `checkCondition`.
  const { where: condition } = mapping
  const text = ownerText(mapping, 'c')
  const owner = condition === undefined ? text : `case when ${conditionOf(condition)} then ${text} end`
  const isName = (text: string) =>
    `char_length(${text}) between 1 and ${maxNameLength} and ${text} <> '__proto__'`
  const isFew = hasFewDigits(table, 'c')
  const payload = payloadOf(table, 'c')
  const isLong = `octet_length(s.p::text) > ${maxRecordBytes}`
  return `
    select s.id, case when s.aside is null and not ${isLong} then s.owner end as owner, s.p,
      case when s.aside is null and s.owner is not null and ${isLong} then ${literal(reasons.long)} else s.aside end as aside
    from (
      select ${idOf(table, 'c')} as id, ${owner} as owner, ${isFew === '' ? payload : `case when ${isFew} then ${payload} end`} as p,
        case when ${owner} is null then null when not (${isName(owner)} and ${isName(idOf(table, 'c'))}) then ${literal(reasons.name)}
          ${isFew === '' ? '' : `when not (${isFew}) then ${literal(reasons.digits)}`} end as aside
      from ${relation} as c where ${where}${lock ? ' for update' : ' offset 0'}
    ) as s`
}

/** The condition that no number is longer than clients take, so that its text is worth making; empty if it always is. */
function hasFewDigits({ fields }: MappedTable, row: string): string {
  const isFew = (value: string) =>
    `case when abs(${value}) < 1e${maxDigits} then scale(${value}) <= ${maxDigits} else length(${value}::text) < 10 end`
  return fields
    .filter(({ type }) => type.name === 'numeric')
    .map(({ column, type }) => {
      const value = `${row}.${identifier(column)}`
      if (!type.isArray) return `(${value} is null or ${isFew(value)})`
      return `not exists (select from unnest(${value}) as e(v) where not (e.v is null or ${isFew('e.v')}))`
    })
    .join(' and ')
}

function ownerText({ owner: { column, prefix } }: MappedTable['mapping'], row: string): string {
  const text = `${row}.${identifier(column)}::text`
  return prefix === '' ? text : `(${literal(prefix)} || ${text})`
}
