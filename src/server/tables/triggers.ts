import { changedNotice } from '../log/sql/channel.ts'
import { sha256 } from '../sha256.ts'
import type { MappedTable } from './inspect.ts'
import { identifier, literal } from './quote.ts'
import { safePath } from './secure-functions.ts'

/**
 * The advisory lock of the one transaction that notifies. Others do not wait for it, and do not notify. PostgreSQL runs
 * commits with notifications one after the other, each with its own flush to the disk. Changes without a notification
 * are found at the next check of the queue.
 */
const notifyLock = '1768846195, 1701847649'

/** The triggers that an attached table has, in the order in which they are created. */
export const triggerNames = ['instep_insert', 'instep_update', 'instep_delete', 'instep_truncate'] as const

/** The name of the trigger function of a type, in the schema of Instep's tables. */
export function functionOf(type: string): string {
  return `instep_note_${sha256(type)
    .slice(0, 12)
    .replace(/[^A-Za-z0-9]/g, '_')}`
}

/**
 * The statements that create the trigger function of a type and the triggers of its table. Safe to run again.
 *
 * A trigger writes the keys of changed rows in the transaction that changes them, and takes no lock that another
 * transaction waits for. `enable always`: the triggers also run where `session_replication_role` is `replica`.
 * `security definer`: whoever writes to the table needs no right on the tables of Instep. So each name must mean the
 * same in every session, and nobody else may call the function: see `secureFunctions`, which has to run afterwards.
 */
export function createTriggers(table: MappedTable, schema: string, channel: string): readonly string[] {
  const { mapping, relation } = table
  const note = `${identifier(schema)}.${identifier(functionOf(mapping.type))}`
  const change = `${identifier(schema)}.instep_change`
  const events = table.isPartitioned ? rowEvents : statementEvents
  const body = table.isPartitioned ? rowBody(table, change) : statementBody(table, change)
  return [
    ...dropTriggers(relation),
    dropFunction(mapping.type, schema),
    `create function ${note}() returns trigger language plpgsql security definer
      set search_path = ${safePath} as ${literal(`#variable_conflict use_column
      begin
        ${body}
        if found and current_setting('max_prepared_transactions') = '0' and pg_try_advisory_xact_lock(${notifyLock}) then
          perform pg_notify(${literal(channel)}, ${literal(changedNotice)});
        end if;
        return null;
      end`)}`,
    ...triggerNames.map((name, index) => {
      const [event, rest] = events[index] ?? []
      return `create trigger ${name} after ${event} on ${relation} ${rest} execute function ${note}()`
    }),
    ...triggerNames.map((name) => `alter table ${relation} enable always trigger ${name}`),
  ]
}

export function dropTriggers(relation: string): readonly string[] {
  return triggerNames.map((name) => `drop trigger if exists ${name} on ${relation}`)
}

/** Drops the function, and with it the triggers that call it, whosever they are. */
export function dropFunction(type: string, schema: string): string {
  return `drop function if exists ${identifier(schema)}.${identifier(functionOf(type))}() cascade`
}

type Event = readonly [event: string, rest: string]

const statementEvents: readonly Event[] = [
  ['insert', 'referencing new table as instep_new for each statement'],
  ['update', 'referencing old table as instep_old new table as instep_new for each statement'],
  ['delete', 'referencing old table as instep_old for each statement'],
  ['truncate', 'for each statement'],
]

/** A statement that names a partition does not run the statement triggers of the partitioned table. */
const rowEvents: readonly Event[] = [
  ['insert', 'for each row'],
  ['update', 'for each row'],
  ['delete', 'for each row'],
  ['truncate', 'for each statement'],
]

/** The maximum number of keys in one row. */
const keysAtOnce = 1_000

function statementBody({ mapping }: MappedTable, change: string): string {
  const [type, id] = [literal(mapping.type), identifier(mapping.id)]
  // A column may have the name of a variable of plpgsql.
  const keysIn = (rows: string) => `select r.${id} as id from ${rows} r`
  const [before, after] = [keysIn('instep_old'), keysIn('instep_new')]
  const many = (keys: string) =>
    `insert into ${change} select ${type}, array_agg(m.id::pg_catalog.text)
      from (select k.id, row_number() over () - 1 as n from (${keys}) k) m group by m.n / ${keysAtOnce}`
  // The usual statement changes few rows and none of their keys. For such a statement, this form costs half as much.
  const few = (keys: string, same = keys) =>
    `insert into ${change} select ${type}, k.ids::pg_catalog.text[] from (select array(${keys} limit ${keysAtOnce + 1}) as ids,
        array(${same} limit ${keysAtOnce + 1}) as same offset 0) k
      where k.ids = k.same and cardinality(k.ids) between 1 and ${keysAtOnce}`
  const into = (keys: string) => `${few(keys)}; if not found then ${many(keys)}; end if`
  // Do not join old and new rows: a session reuses the plan that it made for its first statement. With many rows, a
  // plan for one row takes time that grows with the square of their number.
  return `if tg_op = 'INSERT' then ${into(after)};
    elsif tg_op = 'UPDATE' then ${few(after, before)}; if not found then ${many(`${after} union ${before}`)}; end if;
    elsif tg_op = 'DELETE' then ${into(before)};
    else insert into ${change} values (${type}, null);
    end if;`
}

function rowBody({ mapping }: MappedTable, change: string): string {
  const [type, id] = [literal(mapping.type), identifier(mapping.id)]
  // By `format`, because the owner of the table may call this function for a table of its own: a cast could be its own.
  const key = (row: string) => `pg_catalog.format('%s', ${row}.${id})`
  const into = (...rows: readonly string[]) =>
    `insert into ${change} values (${type}, array[${rows.map(key).join()}])`
  return `if tg_op = 'TRUNCATE' then insert into ${change} values (${type}, null);
    elsif tg_op = 'DELETE' then ${into('old')};
    elsif tg_op = 'INSERT' then ${into('new')};
    elsif ${key('old')} = ${key('new')} then ${into('new')};
    else ${into('old', 'new')};
    end if;`
}
