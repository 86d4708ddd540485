/** A write to a collection. With `rowUpdateMode: 'full'`, an update also inserts a row that does not exist. */
export type RowWrite<R> =
  | { readonly type: 'update'; readonly value: R }
  | { readonly type: 'delete'; readonly key: string }

/** The rows of a collection by id, to compute the writes that a change needs. */
export class Mirror<R extends { readonly id: string }> {
  #rows = new Map<string, R>()

  /** Sets one row, or removes it if `value` is `undefined`. Returns the writes for the collection. */
  set(id: string, value: R | undefined): readonly RowWrite<R>[] {
    const before = this.#rows.get(id)
    if (before === value) return []
    if (!value) {
      this.#rows.delete(id)
      return [{ type: 'delete', key: id }]
    }
    this.#rows.set(id, value)
    return [{ type: 'update', value: separate(value) }]
  }

  /** Replaces all rows. Returns the writes for the collection. */
  replace(rows: readonly R[]): readonly RowWrite<R>[] {
    const ids = new Set(rows.map(({ id }) => id))
    const gone = [...this.#rows.keys()].filter((id) => !ids.has(id))
    return [...gone.flatMap((id) => this.set(id, undefined)), ...rows.flatMap((row) => this.set(row.id, row))]
  }
}

/** Copies a record with nested values, since bindings such as Solid's change nested values in place. */
function separate<R extends object>(record: R): R {
  const isNesting = Object.values(record).some((value) => typeof value === 'object' && value !== null)
  return isNesting ? structuredClone(record) : record
}
