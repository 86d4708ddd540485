import type { Exchange } from './exchange.ts'
import type { OptionalPart } from './outcome.ts'

/**
 * What a run has found: the document that `--json` prints. Fields may be added, and none is removed or changed without
 * another `format`.
 */
export interface Report {
  readonly report: 'instep conformance'
  readonly format: 1
  /** The base address of the server. */
  readonly url: string
  readonly outcome: RunOutcome
  readonly durationMs: number
  /** Which of the endpoints are there that a server may lack. */
  readonly endpoints: { readonly tx: boolean; readonly ws: boolean }
  readonly counts: {
    readonly held: number
    readonly notHeld: number
    readonly untested: number
    readonly leftOut: number
  }
  /** In the order in which the report shows them: by subject. */
  readonly checks: readonly CheckReport[]
  /** The parts that the server does not have, each with the drawback for its clients. */
  readonly leftOut: readonly { readonly part: OptionalPart; readonly lack: string }[]
  readonly removal: Removal
}

/**
 * `held`: the core, and all that the server offers, as far as it was tested. `not-held`: at least one check does not
 * hold. `untested`: not even the core could be tested. `interrupted`: by a signal.
 */
export type RunOutcome = 'held' | 'not-held' | 'untested' | 'interrupted'

export interface CheckReport {
  readonly name: string
  readonly title: string
  /** The heading in `docs/protocol.md`, and the words there. */
  readonly paragraph: string
  readonly rule: string
  readonly durationMs: number
  readonly outcome: 'held' | 'not-held' | 'untested' | 'left-out'
  /** The part that the server does not have, if the check is left out. */
  readonly part?: OptionalPart
  /** Why the check is untested or left out. */
  readonly reason?: string
  /** Only if it does not hold: what the server should have done. */
  readonly expected?: string
  /** The behaviour that was found, if `answer` alone does not show it. */
  readonly found?: string
  readonly request?: Exchange['request']
  readonly answer?: Exchange['answer']
  /** Why there is no answer. */
  readonly failure?: string
}

/** The removal of the records that the run has made. */
export interface Removal {
  readonly made: number
  /** Those that the run could not remove, or of which it does not know. */
  readonly left: readonly MadeRecord[]
  /** Why, if some are left. */
  readonly reason?: string
}

export interface MadeRecord {
  readonly t: string
  readonly id: string
  /** Whose record it is: that of `--token` or of `--other-token`. */
  readonly of: 'token' | 'other-token'
}
