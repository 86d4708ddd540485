import { useCallback, useMemo, useSyncExternalStore } from 'react'
import { initialStatus, type Status } from '../engine/status.ts'
import { useClient } from './client-context.ts'

/** Where the client stands, or what `select` takes of it; renders anew where that is another. */
export function useSyncStatus(): Status
export function useSyncStatus<S>(select: (status: Status) => S): S
export function useSyncStatus(select: (status: Status) => unknown = identity): unknown {
  const client = useClient()
  const subscribe = useCallback((listener: () => void) => client.on('status', listener), [client])
  const kept = useMemo(keeper, [])
  const selected = useMemo(() => oncePerStatus((status) => kept(select(status))), [select, kept])
  return useSyncExternalStore(
    subscribe,
    () => selected(client.status),
    () => selected(initialStatus),
  )
}

const identity = (status: Status) => status

/** Selects once from a status: what is made anew each time would be another each time that React looks. */
function oncePerStatus(select: (status: Status) => unknown): (status: Status) => unknown {
  const selections = new WeakMap<Status, unknown>()
  return (status) => {
    if (!selections.has(status)) selections.set(status, select(status))
    return selections.get(status)
  }
}

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
  if (!isPlain(a) || !isPlain(b) || Array.isArray(a) !== Array.isArray(b)) return false
  const [these, those] = [Object.entries(a), new Map(Object.entries(b))]
  return (
    these.length === those.size &&
    these.every(([key, value]) => those.has(key) && Object.is(value, those.get(key)))
  )
}

/** Whether its entries are all that `value` says, as those of an error, a date or a map are not. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || !value) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return Array.isArray(value) || prototype === null || prototype === Object.prototype
}
