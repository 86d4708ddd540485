import { useSyncExternalStore } from 'react'
import type { Unsubscribe } from '../base/emitter.ts'

/** What was read of something outside of React. */
export interface Reading<V> {
  readonly value: V
  /** Whether all that a component has read of `value` is still what there is. */
  isCurrent(): boolean
}

export interface SourceOptions<V> {
  /** Calls `listener` after each change of what is read. */
  subscribe(listener: () => void): Unsubscribe
  /** What there is now, as a new value. */
  read(): Reading<V>
}

/** Something outside of React, as a value that is the same by reference until it changes. */
export class Source<V> {
  readonly #options: SourceOptions<V>
  #reading: Reading<V> | undefined
  #isFollowed = false

  constructor(options: SourceOptions<V>) {
    this.#options = options
  }

  readonly get = (): V => {
    // Before it has subscribed, React asks again whether all that it is about to show is of one moment.
    if (!this.#isFollowed && !this.#reading?.isCurrent()) this.#reading = undefined
    this.#reading ??= this.#options.read()
    return this.#reading.value
  }

  readonly subscribe = (listener: () => void): Unsubscribe => {
    const undo = this.#options.subscribe(() => {
      this.#reading = undefined
      listener()
    })
    this.get()
    this.#isFollowed = true
    return () => {
      this.#isFollowed = false
      undo()
    }
  }
}

/** The value of `source`; on the server, and while what it rendered is taken over, `before`. */
export function useSource<V>(source: Source<V>, before: V): V {
  return useSyncExternalStore(source.subscribe, source.get, () => before)
}
