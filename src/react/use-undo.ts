import { useCallback, useMemo, useSyncExternalStore } from 'react'
import { useClient } from './client-context.ts'

/** Undoing and doing again, for two buttons. */
export interface UndoControls {
  readonly canUndo: boolean
  readonly canRedo: boolean
  /** As `client.undo`. */
  readonly undo: () => Promise<boolean>
  readonly redo: () => Promise<boolean>
}

/** What the user can undo and do again, as it changes: the same object until then. */
export function useUndo(): UndoControls {
  const client = useClient()
  const subscribe = useCallback((listener: () => void) => client.outbox.subscribe(listener), [client])
  const never = () => false
  const canUndo = useSyncExternalStore(subscribe, () => client.canUndo, never)
  const canRedo = useSyncExternalStore(subscribe, () => client.canRedo, never)
  return useMemo(
    () => ({ canUndo, canRedo, undo: () => client.undo(), redo: () => client.redo() }),
    [client, canUndo, canRedo],
  )
}
