import type { Work } from './turns.ts'

/** A chunk with more items is split in two. */
const maxItems = 512

/** The number of items in a new chunk, so that the first insertions do not split every chunk. */
const fill = 384

/**
 * A total order: by a key, then by the rest of the item. The list stores the keys beside the items, because reading an
 * item costs far more.
 */
export interface ListOrder<T> {
  key(item: T): unknown
  compareKeys(a: unknown, b: unknown): number
  /** Compares items with equal keys. Returns 0 only if both are the same entry. */
  compareTies(a: T, b: T): number
}

interface Chunk<T> {
  readonly keys: unknown[]
  readonly items: T[]
}

interface Place<T> {
  readonly at: number
  readonly chunk: Chunk<T>
  readonly index: number
}

/**
 * Items in a total order, without duplicates, in chunks. To find, add or remove an item costs O(log n) comparisons and
 * moves the items of one chunk at most.
 *
 * Small chunks that removals leave are not joined. Their number is limited by the insertions.
 */
export class OrderedList<T extends object> {
  readonly #order: ListOrder<T>
  /** At least one chunk. Only a single chunk may be empty. */
  readonly #chunks: Chunk<T>[] = []
  /** The last item of each chunk. */
  readonly #lasts: Chunk<T> = { keys: [], items: [] }
  #length = 0
  /** The rank of the first item of each chunk. Cleared by a change, and computed when it is needed. */
  #starts: number[] | undefined

  private constructor(order: ListOrder<T>, first: T[]) {
    this.#order = order
    this.#append(first)
  }

  /** Makes a list of items that are already sorted. */
  static *over<T extends object>(order: ListOrder<T>, sorted: readonly T[]): Work<OrderedList<T>> {
    const list = new OrderedList(order, sorted.slice(0, fill))
    for (let start = fill; start < sorted.length; start += fill) {
      yield
      list.#append(sorted.slice(start, start + fill))
    }
    return list
  }

  /** Adds `item`. Replaces the item that equals `item`, if there is one. */
  add(item: T): void {
    const place = this.#find(item)
    this.#put(place, item, this.#holds(place, item))
  }

  /** Removes the item that equals `item`. Returns whether there was one. */
  remove(item: T): boolean {
    const place = this.#find(item)
    const { at, chunk, index } = place
    if (!this.#holds(place, item)) return false
    chunk.keys.splice(index, 1)
    chunk.items.splice(index, 1)
    if (chunk.items.length > 0 || this.#chunks.length === 1) this.#noteLast(at, chunk)
    else for (const list of [this.#chunks, this.#lasts.keys, this.#lasts.items]) list.splice(at, 1)
    this.#resized(-1)
    return true
  }

  /** Removes `before` and adds `after`; either may be `undefined`. Returns whether an item was removed. */
  replace(before: T | undefined, after: T | undefined): boolean {
    if (before && after && this.#compare(before, after) === 0) {
      const place = this.#find(before)
      const isHeld = this.#holds(place, before)
      this.#put(place, after, isHeld)
      return isHeld
    }
    const removed = before !== undefined && this.remove(before)
    if (after) this.add(after)
    return removed
  }

  /**
   * The number of items for which `isBefore` returns `true`. It must do so for all items up to one place and for none
   * after.
   */
  rank(isBefore: (item: T, key: unknown) => boolean): number {
    const { at, index } = this.#seek(({ items, keys }, i) => isBefore(items[i] as T, keys[i]))
    return this.#startOf(at) + index
  }

  /** The items from rank `from` up to, but not including, rank `to`. */
  slice(from: number, to: number): T[] {
    const parts: T[][] = []
    for (let at = this.#chunkOf(from); at < this.#chunks.length && this.#startOf(at) < to; at += 1) {
      const start = this.#startOf(at)
      parts.push(this.#chunks[at]?.items.slice(Math.max(from - start, 0), to - start) ?? [])
    }
    return parts.flat()
  }

  #compare(a: T, b: T): number {
    const { key, compareKeys, compareTies } = this.#order
    return compareKeys(key(a), key(b)) || compareTies(a, b)
  }

  /** The place of `item`, or the place to insert it. */
  #find(item: T): Place<T> {
    const { key, compareKeys, compareTies } = this.#order
    const itemKey = key(item)
    return this.#seek(({ keys, items }, i) => {
      const order = compareKeys(keys[i], itemKey)
      return order < 0 || (order === 0 && compareTies(items[i] as T, item) < 0)
    })
  }

  /** The first place for which `isBefore` returns `false`. */
  #seek(isBefore: (chunk: Chunk<T>, index: number) => boolean): Place<T> {
    // An item after all others belongs to the end of the last chunk.
    const at = partition(this.#chunks.length - 1, (i) => isBefore(this.#lasts, i))
    const chunk = this.#chunks[at] as Chunk<T>
    return { at, chunk, index: partition(chunk.items.length, (i) => isBefore(chunk, i)) }
  }

  #holds({ chunk, index }: Place<T>, item: T): boolean {
    const found = chunk.items[index]
    return found !== undefined && this.#compare(found, item) === 0
  }

  #put({ at, chunk, index }: Place<T>, item: T, isReplacement: boolean): void {
    const drop = isReplacement ? 1 : 0
    chunk.keys.splice(index, drop, this.#order.key(item))
    chunk.items.splice(index, drop, item)
    if (chunk.items.length > maxItems) {
      const half = maxItems / 2
      this.#insert(at + 1, { keys: chunk.keys.splice(half), items: chunk.items.splice(half) })
    }
    this.#noteLast(at, chunk)
    if (!isReplacement) this.#resized(1)
  }

  #append(items: T[]): void {
    this.#insert(this.#chunks.length, { keys: items.map((item) => this.#order.key(item)), items })
    this.#resized(items.length)
  }

  #insert(at: number, chunk: Chunk<T>): void {
    this.#chunks.splice(at, 0, chunk)
    this.#lasts.keys.splice(at, 0, chunk.keys.at(-1))
    this.#lasts.items.splice(at, 0, chunk.items.at(-1) as T)
  }

  #noteLast(at: number, { keys, items }: Chunk<T>): void {
    this.#lasts.keys[at] = keys.at(-1)
    this.#lasts.items[at] = items.at(-1) as T
  }

  /** The chunk that holds `rank`. */
  #chunkOf(rank: number): number {
    return partition(this.#chunks.length - 1, (at) => this.#startOf(at + 1) <= rank)
  }

  #startOf(at: number): number {
    if (!this.#starts) {
      this.#starts = []
      let start = 0
      for (const { items } of this.#chunks) {
        this.#starts.push(start)
        start += items.length
      }
    }
    return this.#starts[at] ?? this.#length
  }

  #resized(by: number): void {
    this.#length += by
    this.#starts = undefined
  }
}

/** The first index below `length` for which `isBefore` returns `false`; `length` if there is none. */
export function partition(length: number, isBefore: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}
