import { useCallback, useMemo, useSyncExternalStore } from 'react'
import { useClient } from './client-context.ts'

/** The state and the functions of an undo and a redo button. */
export interface UndoControls {
  readonly canUndo: boolean
  readonly canRedo: boolean
  /** Calls `client.undo`. */
  readonly undo: () => Promise<boolean>
  /** Calls `client.redo`. */
  readonly redo: () => Promise<boolean>
}

/** Returns the undo state of the client, and renders again when it changes. The same object until then. */
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
