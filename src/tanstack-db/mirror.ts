/** A row of a collection that is another now. A full update puts it in place where there is none, too. */
export type RowWrite<R> =
  | { readonly type: 'update'; readonly value: R }
  | { readonly type: 'delete'; readonly key: string }

/** What a collection was given last, by id: what has to be written so that it has something else. */
export class Mirror<R extends { readonly id: string }> {
  #rows = new Map<string, R>()

  /** Sets one row; `undefined` removes it. */
  set(id: string, value: R | undefined): readonly RowWrite<R>[] {
    const before = this.#rows.get(id)
    if (before === value) return []
    if (!value) {
      this.#rows.delete(id)
      return [{ type: 'delete', key: id }]
    }
    this.#rows.set(id, value)
    return [{ type: 'update', value: apart(value) }]
  }

  /** Sets all rows, those that are not among them being gone. */
  replace(rows: readonly R[]): readonly RowWrite<R>[] {
    const ids = new Set(rows.map(({ id }) => id))
    const gone = [...this.#rows.keys()].filter((id) => !ids.has(id))
    return [...gone.flatMap((id) => this.set(id, undefined)), ...rows.flatMap((row) => this.set(row.id, row))]
  }
}

/** `record` as it may be given away: a binding such as Solid's changes in place what a record nests. */
function apart<R extends object>(record: R): R {
  const isNesting = Object.values(record).some((value) => typeof value === 'object' && value !== null)
  return isNesting ? structuredClone(record) : record
}
