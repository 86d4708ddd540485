import type { Mutation } from './mutation.ts'

const many = 'invariant 75: callers with many owners get the records of these, and no others'

/** Callers of several owners. */
export const owners: readonly Mutation[] = [
  {
    invariant: 47,
    test: 'test/server-fuzz/ownership.test.ts',
    name: 'invariant 47: on %s, callers with many owners get exactly the records of these, whoever joins and leaves',
    file: 'src/server/log/sql/read.ts',
    from: 'and (moved_to is null',
    to: 'or (moved_to is null',
  },
  {
    invariant: 47,
    test: 'test/server-sql/crowded.test.ts',
    name: 'invariant 47: a write to long records of others gets the same verdict beside a write of their owner',
    file: 'src/server/log/sql/records.ts',
    from: '.filter((key) => isOwn(owners.get(key)))',
    to: '',
  },
  {
    invariant: 75,
    test: 'test/server/ownership.test.ts',
    name: many,
    file: 'src/server/log/memory-log.ts',
    from: 'filter((record) => own.has(record.owner))',
    to: 'filter((record) => own.size > 9 || own.has(record.owner))',
  },
  {
    invariant: 75,
    test: 'test/server/ownership.test.ts',
    name: many,
    file: 'src/server/realtime/audiences.ts',
    from: 'const key = JSON.stringify([...owners].sort())',
    to: 'const key = String(owners.length)',
  },
  {
    invariant: 76,
    test: 'test/server/owners.test.ts',
    name: 'invariant 76: a moved record is removed for callers of its old owner, sent whole to callers of its new owner, and never missing for callers of both',
    file: 'src/server/log/received.ts',
    from: '&& !(movedTo !== undefined && owners.has(movedTo))',
    to: '',
  },
  {
    invariant: 77,
    test: 'test/server/moved-caller.test.ts',
    name: 'invariant 77: keeps no record of a team after leaving it for another, not on disk either',
    file: 'src/server/log/epoch.ts',
    from: 'ownerField, ...owners]',
    to: 'ownerField, owners.length]',
  },
  {
    invariant: 77,
    test: 'test/server/moved-caller.test.ts',
    name: 'invariant 77: is noticed by an open socket within `recheckMs`',
    file: 'src/server/service.ts',
    from: 'caller.userId === before.caller.userId && hasSame(owners, before.owners)',
    to: 'caller.userId === before.caller.userId',
  },
]
