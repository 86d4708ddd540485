import type { Database, SnapshotWriter } from './database.ts'
import { countUnsent } from './sign-out.ts'

const nowhere: SnapshotWriter = {
  page: async () => {},
  commit: async () => '',
  abort: async () => {},
}

/** A database that stores nothing and never fails, for a client whose data is in memory only. */
export const noDatabase: Database = {
  kind: 'memory',
  restore: async () => undefined,
  read: async () => undefined,
  position: async () => undefined,
  since: async () => undefined,
  term: 0,
  readCaller: async () => undefined,
  storeCaller: async () => {},
  snapshot: async () => nowhere,
  append: async () => {},
  checkpoint: async () => false,
  size: { pageUnits: 0, journalUnits: 0 },
  outbox: {
    read: async () => ({ records: [], ends: [], failed: [], unreadable: [], last: '' }),
    write: async () => ({ stored: new Map(), refused: new Map() }),
    readLate: async () => [],
  },
  life: undefined,
  signOut: async ({ pending, own }) =>
    pending === 'keep'
      ? countUnsent(undefined, own, 0, 'there is no store to keep them in')
      : countUnsent(pending, own),
  drop: async () => {},
  close: () => {},
  onLost: () => () => {},
}
