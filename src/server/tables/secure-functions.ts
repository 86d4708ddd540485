import { sql } from 'kysely'
import { ConfigurationError } from '../../base/errors.ts'
import type { Db } from '../log/sql/database.ts'

/**
 * The search path of a trigger function, which runs with the rights of its owner. `pg_temp` is last: a path without it
 * finds the types and tables of the caller's session before those of PostgreSQL.
 */
export const safePath = 'pg_catalog, pg_temp'

/** A trigger function that others can use to act as its owner. */
interface UnsafeFunction {
  /** The function in SQL, with its schema. */
  readonly name: string
  /** The roles that may call it, in SQL. */
  readonly callers: readonly string[]
  /** The role that may call it from now on, in SQL. */
  readonly keeper: string | null
  readonly isOwn: boolean
}

/**
 * The trigger functions that have another search path, that others may call, or that a table of others calls: its
 * columns may have types with casts of theirs. PostgreSQL asks for the right to call the function only when a trigger is
 * created, and so when the owner of a partitioned table creates a partition.
 */
async function unsafeFunctions(db: Db): Promise<readonly UnsafeFunction[]> {
  const { rows } = await sql<UnsafeFunction>`
    select f.oid::regprocedure::text as name, callers, quote_ident(keeper.rolname) as keeper,
      pg_has_role(f.proowner, 'usage') as "isOwn"
    from pg_proc f
    left join lateral (
      select r.oid, r.rolname from pg_trigger g
      join pg_class c on c.oid = g.tgrelid and c.relkind = 'p'
      join instep_table a on c.oid = to_regclass(a.relation)
      join pg_roles r on r.oid = c.relowner and r.oid <> f.proowner
      where g.tgfoid = f.oid limit 1
    ) keeper on true
    cross join lateral (
      select array(
        select case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end
        from aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a
        where a.grantee not in (f.proowner, coalesce(keeper.oid, f.proowner))
      ) as callers
    ) c
    where f.proname like 'instep\\_note\\_%' and f.prosecdef
      and f.pronamespace = (select relnamespace from pg_class where oid = to_regclass('instep_change'))
      and (cardinality(callers) > 0 or exists (
        select from pg_trigger g join pg_class c on c.oid = g.tgrelid
        where g.tgfoid = f.oid and c.relowner <> f.proowner and not exists (
          select from instep_table a join pg_class o on o.oid = to_regclass(a.relation) where o.relowner = c.relowner
        )
      ) or not coalesce(f.proconfig @> array[${`search_path=${safePath}`}], false))
    order by name`.execute(db)
  return rows
}

/**
 * Lets nobody act as the owner of a trigger function, in as far as the functions belong to this role. What tables of
 * others call is left as it is: attaching the type again drops it.
 */
export async function secureFunctions(db: Db): Promise<void> {
  for (const { name, callers, keeper, isOwn } of await unsafeFunctions(db)) {
    if (!isOwn) continue
    const statements = [
      `alter function ${name} set search_path = ${safePath}`,
      ...callers.map((caller) => `revoke all on function ${name} from ${caller}`),
      ...(keeper === null ? [] : [`grant execute on function ${name} to ${keeper}`]),
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  }
}

/** Throws a ConfigurationError if a trigger function lets others act as its owner. */
export async function refuseUnsafeFunctions(db: Db): Promise<void> {
  const [unsafe] = await unsafeFunctions(db)
  if (!unsafe) return
  throw new ConfigurationError(
    'database',
    'The triggers of the attached tables let a role that may insert into such a table act as the role that attached it; run `instep attach`.',
  )
}
