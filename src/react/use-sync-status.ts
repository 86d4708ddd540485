import { useCallback, useMemo, useSyncExternalStore } from 'react'
import { initialStatus, type Status } from '../session/status.ts'
import { useClient } from './client-context.ts'

/** Where the client stands, or what `select` takes of it; renders anew where that is another. */
export function useSyncStatus(): Status
export function useSyncStatus<S>(select: (status: Status) => S): S
export function useSyncStatus(select: (status: Status) => unknown = identity): unknown {
  const client = useClient()
  const subscribe = useCallback((listener: () => void) => client.on('status', listener), [client])
  const kept = useMemo(keeper, [])
  return useSyncExternalStore(
    subscribe,
    () => kept(select(client.status)),
    () => kept(select(initialStatus)),
  )
}

const identity = (status: Status) => status

/** Gives what it gave before as long as it says the same, so that `select` may make an object or a list. */
function keeper() {
  let last: unknown
  return (next: unknown): unknown => {
    if (!saysTheSame(last, next)) last = next
    return last
  }
}

/** The axes of a status stay the same by reference, so one level is enough. */
function saysTheSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || !a || !b) return false
  const [these, those] = [Object.entries(a), new Map(Object.entries(b))]
  return (
    Object.getPrototypeOf(a) === Object.getPrototypeOf(b) &&
    !(a instanceof Error) &&
    these.length === those.size &&
    these.every(([key, value]) => those.has(key) && Object.is(value, those.get(key)))
  )
}
