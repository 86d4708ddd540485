import { useCallback, useSyncExternalStore } from 'react'
import type { DataRecord } from '../client/types.ts'
import { useClient } from './client-context.ts'

/** Returns a record, and renders again when the record changes. `undefined` if there is no such record, or no `id`. */
export function useRecord(type: string, id: string | null | undefined): DataRecord | undefined {
  const client = useClient()
  const subscribe = useCallback((listener: () => void) => client.on('change', listener), [client])
  const read = () => (id == null ? undefined : client.get(type, id))
  return useSyncExternalStore(subscribe, read, () => undefined)
}
