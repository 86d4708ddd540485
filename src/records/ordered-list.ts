import type { Work } from './turns.ts'

/** A chunk that grows beyond this is cut in two. */
const longest = 512

/** How full chunks are made, so that the first insertions do not cut them all. */
const fill = 384

/** A total order: by a key, which is kept beside each item since to read an item costs far more, then by the rest. */
export interface ListOrder<T> {
  key(item: T): unknown
  compareKeys(a: unknown, b: unknown): number
  /** Compares items of equal keys: 0 only where they stand for the same. */
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
 * Items in a total order, no two of them equal, in chunks: finding, adding and removing one costs O(log n)
 * comparisons and moves no more than a chunk.
 *
 * Chunks that removals leave small are not joined; there are never more of them than insertions have made.
 */
export class OrderedList<T extends object> {
  readonly #order: ListOrder<T>
  /** At least one; it alone may be empty. */
  readonly #chunks: Chunk<T>[] = []
  /** The last item of each chunk. */
  readonly #lasts: Chunk<T> = { keys: [], items: [] }
  #length = 0
  /** The rank at which each chunk begins; made again when asked for after a change. */
  #starts: number[] | undefined

  private constructor(order: ListOrder<T>, first: T[]) {
    this.#order = order
    this.#append(first)
  }

  /** A list of what is `sorted` already. */
  static *over<T extends object>(order: ListOrder<T>, sorted: readonly T[]): Work<OrderedList<T>> {
    const list = new OrderedList(order, sorted.slice(0, fill))
    for (let start = fill; start < sorted.length; start += fill) {
      yield
      list.#append(sorted.slice(start, start + fill))
    }
    return list
  }

  /** Adds `item`, in place of the one that equals it, if there is one. */
  add(item: T): void {
    const place = this.#find(item)
    this.#put(place, item, this.#holds(place, item))
  }

  /** Removes the item that equals `item`; gives whether there was one. */
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

  /** Removes one and adds another, either of which may be none; gives whether there was one to remove. */
  replace(before: T | undefined, after: T | undefined): boolean {
    if (before && after && this.#compare(before, after) === 0) {
      const place = this.#find(before)
      const held = this.#holds(place, before)
      this.#put(place, after, held)
      return held
    }
    const removed = before !== undefined && this.remove(before)
    if (after) this.add(after)
    return removed
  }

  /** How many items `isBefore`, told their keys too, says yes to: it must be all up to one place, and none behind it. */
  rank(isBefore: (item: T, key: unknown) => boolean): number {
    const { at, index } = this.#seek(({ items, keys }, i) => isBefore(items[i] as T, keys[i]))
    return this.#startOf(at) + index
  }

  /** The items from rank `from` to `to`, the latter not included. */
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

  /** Where `item` is, or would be. */
  #find(item: T): Place<T> {
    const { key, compareKeys, compareTies } = this.#order
    const own = key(item)
    return this.#seek(({ keys, items }, i) => {
      const order = compareKeys(keys[i], own)
      return order < 0 || (order === 0 && compareTies(items[i] as T, item) < 0)
    })
  }

  /** The first place for which `isBefore` says no. */
  #seek(isBefore: (chunk: Chunk<T>, index: number) => boolean): Place<T> {
    // What lies behind everything belongs to the end of the last chunk.
    const at = partition(this.#chunks.length - 1, (i) => isBefore(this.#lasts, i))
    const chunk = this.#chunks[at] as Chunk<T>
    return { at, chunk, index: partition(chunk.items.length, (i) => isBefore(chunk, i)) }
  }

  #holds({ chunk, index }: Place<T>, item: T): boolean {
    const there = chunk.items[index]
    return there !== undefined && this.#compare(there, item) === 0
  }

  #put({ at, chunk, index }: Place<T>, item: T, instead: boolean): void {
    const drop = instead ? 1 : 0
    chunk.keys.splice(index, drop, this.#order.key(item))
    chunk.items.splice(index, drop, item)
    if (chunk.items.length > longest) {
      const half = longest / 2
      this.#insert(at + 1, { keys: chunk.keys.splice(half), items: chunk.items.splice(half) })
    }
    this.#noteLast(at, chunk)
    if (!instead) this.#resized(1)
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

/** The first of `length` indexes that `isBefore` says no to. */
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
