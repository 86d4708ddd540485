/** A change of one line that breaks an invariant, and the test that is to notice. Paths begin at the project's root. */
export interface Mutation {
  /** Its number in docs/invariants.md. */
  readonly invariant: number
  /** The file of the test. */
  readonly test: string
  /** The test's name as it is written there, placeholders included. */
  readonly name: string
  /** The file that is changed. */
  readonly file: string
  /** What is in it once, within one line. */
  readonly from: string
  /** What takes its place; nothing, where it is left out. */
  readonly to: string
}
