import { useSyncExternalStore } from 'react'
import type { Undo } from '../base/emitter.ts'

export interface SourceOptions<V> {
  /** Calls `listener` after each change of what is read. */
  subscribe(listener: () => void): Undo
  /** What there is now, as a new value. */
  read(): V
  /** Whether `value`, read while nobody was subscribed, is still what there is. */
  isCurrent(value: V): boolean
}

/** Something outside of React, as a value that is the same by reference until it changes. */
export class Source<V> {
  readonly #options: SourceOptions<V>
  #value: V | undefined

  constructor(options: SourceOptions<V>) {
    this.#options = options
  }

  readonly get = (): V => {
    this.#value ??= this.#options.read()
    return this.#value
  }

  readonly subscribe = (listener: () => void): Undo => {
    const { subscribe, isCurrent } = this.#options
    const undo = subscribe(() => {
      this.#value = undefined
      listener()
    })
    // React reads it again once it has subscribed.
    if (this.#value !== undefined && !isCurrent(this.#value)) this.#value = undefined
    return undo
  }
}

/** The value of `source`; on the server, and while what it rendered is taken over, `before`. */
export function useSource<V>(source: Source<V>, before: V): V {
  return useSyncExternalStore(source.subscribe, source.get, () => before)
}
