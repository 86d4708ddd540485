import type { Ids } from '../base/ids.ts'
import type { Payload } from '../protocol/json.ts'

/** The record that the suite may insert, change and remove. */
export interface Template {
  readonly t: string
  readonly p: Payload
  /** The id of the first record, if the ids of the application are no UUIDs. The others are counted up from it. */
  readonly id?: string | undefined
}

/** Names the records that a run makes. */
export class RecordIds {
  readonly #template: Template
  readonly #ids: Ids
  readonly #taken = new Set<string>()
  #next = 0

  constructor(template: Template, ids: Ids) {
    this.#template = template
    this.#ids = ids
  }

  /** Does not use these ids, since records of the server have them. */
  avoid(ids: Iterable<string>): void {
    for (const id of ids) this.#taken.add(id)
  }

  next(): string {
    const { id } = this.#template
    if (id === undefined) return this.#ids.next()
    for (;;) {
      const name = counted(id, this.#next)
      this.#next += 1
      if (!this.#taken.has(name)) return name
    }
  }
}

/** `issue-9` and 1 make `issue-10`, `7` and 1 make `8`, `x` and 1 make `x-2`. */
function counted(id: string, by: number): string {
  if (by === 0) return id
  const [digits] = /[1-9]\d{0,14}$/.exec(id) ?? []
  if (digits === undefined) return `${id}-${by + 1}`
  return `${id.slice(0, -digits.length)}${Number(digits) + by}`
}
