import { createHooks } from 'instep/react'
import type { models } from './models.ts'

/** Instep's hooks, typed by the demo's models. */
export const {
  SyncProvider,
  useClient,
  useLiveQuery,
  usePending,
  useRecord,
  useSyncStatus,
  useTransactionState,
  useUndo,
} = createHooks<typeof models>()
