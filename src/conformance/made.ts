import type { MadeRecord } from './report.ts'

type Owner = MadeRecord['of']

/** A record, named as it was in the op that may have made it: a server may accept what is no name. */
export interface Named {
  readonly t?: unknown
  readonly id?: unknown
}

export interface MadeEntry extends Named {
  readonly of: Owner
}

/** The records that a run has made, or may have made: what it has to remove in the end. */
export class Made {
  readonly #records = new Map<string, MadeEntry>()

  /** Call it before the request that makes the record: that may succeed although its answer is lost. */
  add({ t, id }: Named, of: Owner): void {
    this.#records.set(JSON.stringify([of, t, id]), { t, id, of })
  }

  get all(): readonly MadeEntry[] {
    return [...this.#records.values()]
  }
}
