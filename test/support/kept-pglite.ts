import { AsyncLocalStorage } from 'node:async_hooks'
import { PGlite } from '@electric-sql/pglite'

const isKeeping = new AsyncLocalStorage<boolean>()

/** The emptied databases that nobody uses. */
const free: PGlite[] = []

const { create } = PGlite
Object.assign(PGlite, {
  create: (...args: readonly unknown[]) => (isKeeping.getStore() ? take(args) : make(args)),
})

/**
 * Runs `open`, in which a database in memory may be one that was emptied when a test closed it, without the tables of
 * Instep: making one takes seconds of the processor.
 */
export function onKeptPGlite<T>(open: () => Promise<T>): Promise<T> {
  return isKeeping.run(true, open)
}

function make(args: readonly unknown[]): Promise<PGlite> {
  return Reflect.apply(create, PGlite, args)
}

async function take(args: readonly unknown[]): Promise<PGlite> {
  const known = free.pop()
  if (known) return known
  const made = await make(args)
  made.close = async () => {
    await empty(made)
    free.push(made)
  }
  return made
}

/** Resets the session, then drops all schemas and roles. */
const emptying = [
  'rollback',
  'reset session authorization',
  'discard all',
  `do $$ declare name text; begin
    for name in select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' loop
      execute format('drop schema %I cascade', name);
    end loop;
    for name in select rolname from pg_roles where rolname !~ '^pg_' and rolname <> current_user loop
      execute format('drop owned by %I cascade', name);
      execute format('drop role %I', name);
    end loop;
    execute format('alter database %I reset all', current_database());
  end $$`,
  'create schema public authorization pg_database_owner',
  'grant usage on schema public to public',
  // Without a checkpoint, the write-ahead log would fill the memory.
  'checkpoint',
]

async function empty(pglite: PGlite): Promise<void> {
  await pglite.unlisten('instep')
  for (const statement of emptying) await pglite.exec(statement)
}
