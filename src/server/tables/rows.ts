import { maxNameLength } from '../../protocol/json-copy.ts'
import { maxRecordBytes } from '../log/check-size.ts'
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

/**
 * A select of `id`, `owner` and `p` for the rows of a table. `owner` is null if a row belongs to nobody, or cannot be
 * sent to a client: its id or owner has no text that a client takes, or it is longer than a client takes. `lock`: locks
 * the rows.
 */
export function recordsIn(table: MappedTable, where: string, lock = false): string {
  const { mapping, relation } = table
  // Other names than the columns of the row would be those of the statement around it: see `checkCondition`.
  const { where: condition } = mapping
  const text = ownerText(mapping, 'c')
  const owner = condition === undefined ? text : `case when ${conditionOf(condition)} then ${text} end`
  const isName = (text: string) =>
    `char_length(${text}) between 1 and ${maxNameLength} and ${text} <> '__proto__'`
  return `
    select s.id, case when octet_length(s.p::text) <= ${maxRecordBytes} then s.owner end as owner, s.p from (
      select ${idOf(table, 'c')} as id, ${payloadOf(table, 'c')} as p,
        case when ${isName(owner)} and ${isName(idOf(table, 'c'))} then ${owner} end as owner
      from ${relation} as c where ${where}${lock ? ' for update' : ' offset 0'}
    ) as s`
}

function ownerText({ owner: { column, prefix } }: MappedTable['mapping'], row: string): string {
  const text = `${row}.${identifier(column)}::text`
  return prefix === '' ? text : `(${literal(prefix)} || ${text})`
}
