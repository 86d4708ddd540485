import type { Mutation } from './mutation.ts'

const test = 'test/server-tables/invariants.test.ts'

/** The tables of the application. */
export const tables: readonly Mutation[] = [
  {
    invariant: 78,
    test,
    name: 'invariant 78: a change by any SQL is delivered once, and one that is rolled back is not',
    file: 'src/server/tables/triggers.ts',
    from: ' union ',
    to: ' except ',
  },
  {
    invariant: 78,
    test,
    name: 'invariant 78: a change by any SQL is delivered once, and one that is rolled back is not',
    file: 'src/server/tables/triggers.ts',
    from: 'where k.ids = k.same and',
    to: 'where',
  },
  {
    invariant: 78,
    test,
    name: 'invariant 78: changes of overlapping transactions are delivered in the order of their commits',
    file: 'src/server/tables/drain.ts',
    from: 'returning t, ids',
    to: 'and t is null returning t, ids',
  },
  {
    invariant: 79,
    test,
    name: 'invariant 79: a SQL statement of a user without rights on the tables of Instep succeeds, at every isolation level',
    file: 'src/server/tables/triggers.ts',
    from: 'language plpgsql security definer',
    to: 'language plpgsql',
  },
  {
    invariant: 79,
    test,
    name: 'invariant 79: no statement of the application waits for the log’s lock',
    file: 'src/server/tables/triggers.ts',
    from: '      begin',
    to: '      begin perform from public.instep_state for update;',
  },
  {
    invariant: 80,
    test,
    name: 'invariant 80: a write that constraints or triggers of the application refuse is rejected with the constraint’s name, and changes nothing',
    file: 'src/server/tables/transact.ts',
    from: 'set constraints all immediate',
    to: 'select 1',
  },
  {
    invariant: 80,
    test,
    name: 'invariant 80: a write that constraints or triggers of the application refuse is rejected with the constraint’s name, and changes nothing',
    file: 'src/server/tables/transact.ts',
    from: 'rollback to savepoint instep_ops',
    to: 'release savepoint instep_ops',
  },
  {
    invariant: 81,
    test,
    name: 'invariant 81: attaching, detaching and repairing can be interrupted at any statement and repeated, while others write',
    file: 'src/server/tables/attach.ts',
    from: 'filled = false, attached = true`',
    to: 'attached = true`',
  },
  {
    invariant: 83,
    test: 'test/server-tables/privileges.test.ts',
    name: 'invariant 83: cannot use a trigger function for a table of its own, whose type has casts of its own',
    file: 'src/server/tables/secure-functions.ts',
    from: '(cardinality(callers) > 0 or exists',
    to: '(exists',
  },
]
