import { sql } from 'kysely'
import type { RecordKey } from '../log/log.ts'
import { WriteRejectedError } from '../log/rejection.ts'
import type { Db } from '../log/sql/database.ts'
import { type Int8, toNumber } from '../log/sql/int8.ts'
import { maxBytes, maxKeys } from './drain.ts'
import type { MappedTable } from './inspect.ts'
import { literal } from './quote.ts'
import { hasKey, recordsIn } from './rows.ts'

/**
 * Whether the queued change `c` is one of the transaction that asks: the only visible row of a transaction, or part of
 * one, that is still in progress. Such a part has a later id than its transaction. An id is stored without its epoch.
 */
const isOwn = `case when c.xmin::text::bigint = n.now % 4294967296 then true
  when (c.xmin::text::bigint - n.now % 4294967296 + 4294967296) % 4294967296 < 2147483648
  then txid_status(n.now + (c.xmin::text::bigint - n.now % 4294967296 + 4294967296) % 4294967296) = 'in progress'
  else false end`

/**
 * Measures what the transaction of `db` has changed in `tables`, also by triggers and cascades. Throws a
 * WriteRejectedError of reason `too_large` if its changes are more than can become frames at once, or longer: they could
 * never be stored. Resolves with the records that may be longer than `maxRecordBytes`. Run it before the log's lock is
 * taken, since it takes as long as the changes are many.
 */
export async function measureOwnChanges(
  db: Db,
  tables: readonly MappedTable[],
  maxRecordBytes: number,
): Promise<readonly RecordKey[]> {
  const types = tables.map(({ mapping }) => literal(mapping.type)).join()
  const lengths = tables.map((table) => {
    const rows = recordsIn(table, hasKey(table, 'c', 'k.id'))
    return `select k.t, k.id, octet_length(x.p::text) as length from instep_keys k
      cross join counted left join lateral (${rows}) x on x.owner is not null
      where k.t = ${literal(table.mapping.type)} and counted.count <= ${maxKeys}`
  })
  const { rows } = await sql<{ count: Int8; bytes: Int8 | null; long: readonly RecordKey[] | null }>`
    with instep_own as materialized (
      select c.t, c.ids from instep_change c cross join (select txid_current() as now) n
      where c.t in (${sql.raw(types)}) and ${sql.raw(isOwn)}
    ), instep_keys as materialized (
      select t, id from (
        select o.t, k.id from instep_own o cross join lateral unnest(o.ids) as k(id)
        union
        select r.t, r.id collate "default" from instep_record r
        where exists (select from instep_own where ids is null)
          and r.t = any(array(select t from instep_own where ids is null))
      ) k limit ${sql.lit(maxKeys + 1)}
    ), counted as materialized (
      select count(*) as count from instep_keys
    ), lengths as (${sql.raw(lengths.join(' union all '))}),
    measured as (
      select l.*, octet_length(r.p::text) as before from lengths l
      left join lateral (select p from instep_record r where r.t = l.t and r.id = l.id offset 0) r on true
    )
    select (select count from counted) as count, sum(coalesce(length, 0) + coalesce(before, 0)) as bytes,
      json_agg(json_build_object('t', t, 'id', id)) filter (where length > ${sql.lit(maxRecordBytes)}) as long
    from measured`.execute(db)
  const [{ count, bytes, long } = { count: 0, bytes: 0, long: null }] = rows
  if (toNumber(count) > maxKeys) throw tooLarge(`changes more than ${maxKeys} records`)
  if (toNumber(bytes ?? 0) > maxBytes) throw tooLarge(`changes records of more than ${maxBytes} bytes`)
  return long ?? []
}

function tooLarge(what: string): WriteRejectedError {
  const message = `The transaction ${what}, with what triggers and cascades change.`
  return new WriteRejectedError('too_large', message)
}
