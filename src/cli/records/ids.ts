/** A Map takes 2^24 entries at most; by the last character, ids spread over some. */
const maps = 16

/** The ids of a file's records, to find one that occurs twice. They take some 100 bytes each. */
export class Ids {
  readonly #lines = Array.from({ length: maps }, () => new Map<string, number>())

  /** Keeps the id of the record on `line`; gives the line of the one before that has the same. */
  add(id: string, line: number): number | undefined {
    const known = this.#lines[id.charCodeAt(id.length - 1) % maps]
    const before = known?.get(id)
    if (before === undefined) known?.set(id, line)
    return before
  }
}
