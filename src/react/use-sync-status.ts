import { useCallback, useMemo, useSyncExternalStore } from 'react'
import { initialStatus, type Status } from '../engine/status.ts'
import { useClient } from './client-context.ts'

/** Returns the status of the client, or the part that `select` returns, and renders again when the result changes. */
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

/** Calls `select` once for each status: React requires the same reference for each read until something changes. */
function oncePerStatus(select: (status: Status) => unknown): (status: Status) => unknown {
  const selections = new WeakMap<Status, unknown>()
  return (status) => {
    if (!selections.has(status)) selections.set(status, select(status))
    return selections.get(status)
  }
}

/** Returns the previous value while the next one is equal, so that `select` may return a new object or array. */
function keeper() {
  let last: unknown
  return (next: unknown): unknown => {
    if (!isShallowEqual(last, next)) last = next
    return last
  }
}

/** Compares one level, which is enough, since an unchanged axis of a status is the same object. */
function isShallowEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (!isPlain(a) || !isPlain(b) || Array.isArray(a) !== Array.isArray(b)) return false
  const [entries, others] = [Object.entries(a), new Map(Object.entries(b))]
  return (
    entries.length === others.size &&
    entries.every(([key, value]) => others.has(key) && Object.is(value, others.get(key)))
  )
}

/**
 * Whether `value` is an array or a plain object, whose entries are its whole content, unlike an error, a date or a map.
 */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || !value) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return Array.isArray(value) || prototype === null || prototype === Object.prototype
}
