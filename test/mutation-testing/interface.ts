// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the text of a source may hold a template
import type { Mutation } from './mutation.ts'

const log = 'test/interface/invariants-log.test.ts'

/** The service on PGlite and on PostgreSQL, over real HTTP and real sockets. */
export const overHttp: readonly Mutation[] = [
  {
    invariant: 13,
    test: log,
    name: 'invariant 13: of what 8 clients write at once, whoever reads on from a position misses nothing',
    file: 'src/server/log/sql/read.ts',
    from: 'owner = (${own})[1] and sid > ${from} and',
    to: 'owner = (${own})[1] and sid > ${from} + 1 and',
  },
  {
    invariant: 15,
    test: log,
    name: 'invariant 15: what is committed between a snapshot and the opening of the socket is delivered',
    file: 'src/server/log/sql/read.ts',
    from: 'owner = (${own})[1] and sid > ${from} and',
    to: 'owner = (${own})[1] and sid > ${from} + 1 and',
  },
  {
    invariant: 19,
    test: log,
    name: 'invariant 19: one id sent ten times at once and once more later is done once, and answered alike',
    file: 'src/server/log/sql/write.ts',
    from: 'kept.get(rowKey(caller, id))',
    to: 'kept.get(rowKey(caller, `${id}?`))',
  },
  {
    invariant: 47,
    test: 'test/server-fuzz/ownership.test.ts',
    name: 'invariant 47: no request returns a byte of another owner’s records, and all own records are returned',
    file: 'src/server/log/sql/read.ts',
    from: 'where owner = (${own})[1] and sid',
    to: 'where sid',
  },
  {
    invariant: 57,
    test: log,
    name: 'invariant 57: what is too long, too packed or too often is refused, and what looks like SQL is text',
    file: 'src/server/log/sql/read.ts',
    from: 'return sql`${owners.filter(isStorable)}::text[]`',
    to: "return sql`string_to_array('${sql.raw(owners.join())}', ',')`",
  },
]
