import { useSyncExternalStore } from 'react'
import type { Unsubscribe } from '../base/emitter.ts'

/** A value that was read from outside of React. */
export interface Reading<V> {
  readonly value: V
  /** Whether everything that components have read from `value` is still current. */
  isCurrent(): boolean
}

export interface SourceOptions<V> {
  /** Calls `listener` after each change of the value. */
  subscribe(listener: () => void): Unsubscribe
  /** Reads the current state as a new value. */
  read(): Reading<V>
}

/** Presents state outside of React as a value that stays the same by reference until it changes. */
export class Source<V> {
  readonly #options: SourceOptions<V>
  #reading: Reading<V> | undefined
  #isFollowed = false

  constructor(options: SourceOptions<V>) {
    this.#options = options
  }

  readonly get = (): V => {
    // Before React subscribes, it calls `get` again, to check that the values have not changed since rendering.
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

/** Returns the value of `source`, or `serverValue` on the server and during hydration. */
export function useSource<V>(source: Source<V>, serverValue: V): V {
  return useSyncExternalStore(source.subscribe, source.get, () => serverValue)
}
