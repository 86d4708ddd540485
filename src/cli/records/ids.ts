/** A Map holds at most 2^24 entries, so ids are spread over several maps by their last character. */
const maps = 16

/** The ids of a file's records, to find duplicates. Each takes about 100 bytes. */
export class Ids {
  readonly #lines = Array.from({ length: maps }, () => new Map<string, number>())

  /** Adds the id of the record on `line`. Returns the line of an earlier record with the same id. */
  add(id: string, line: number): number | undefined {
    const known = this.#lines[id.charCodeAt(id.length - 1) % maps]
    const before = known?.get(id)
    if (before === undefined) known?.set(id, line)
    return before
  }
}
