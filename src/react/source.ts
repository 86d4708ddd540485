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
  #isFollowed = false

  constructor(options: SourceOptions<V>) {
    this.#options = options
  }

  readonly get = (): V => {
    const { isCurrent, read } = this.#options
    // Before it has subscribed, React asks again whether all that it is about to show is of one moment.
    const isOver = !this.#isFollowed && this.#value !== undefined && !isCurrent(this.#value)
    if (isOver) this.#value = undefined
    this.#value ??= read()
    return this.#value
  }

  readonly subscribe = (listener: () => void): Undo => {
    const undo = this.#options.subscribe(() => {
      this.#value = undefined
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
