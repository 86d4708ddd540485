import type { Context } from './context.ts'

/** An option or an endpoint without which a check cannot run. */
export type Need = OptionNeed | EndpointNeed

/** An option of the command. Without it, the check is reported as untested. */
export type OptionNeed = 'token' | 'other-token' | 'expired-token' | 'insert' | 'change'

/** An endpoint that a server may lack. Without it, the check is reported as left out. */
export type EndpointNeed = 'tx' | 'ws'

/**
 * One rule of the protocol, and how to see from outside whether a server keeps it. A check relies on nothing but the
 * server's responses, on the records that it has made itself, and on `docs/protocol.md`. Other people may write at the
 * same time, and other checks run meanwhile: it ignores records that it has not made.
 */
export interface Check {
  /** The subject and a name, as in `delta/above-head`. Scripts select checks by it, so it stays the same. */
  readonly name: string
  /** The statement that the check tests, as one sentence. */
  readonly title: string
  /** The heading in `docs/protocol.md` under which the rule is. */
  readonly paragraph: string
  /** A part of that text, word for word, apart from its line breaks. */
  readonly rule: string
  readonly needs: readonly Need[]
  /**
   * `alone`: after the others, while no other one runs. `last`: after all others, since a server that gets it wrong may
   * have data that no client can read. @default with others
   */
  readonly phase?: 'alone' | 'last'
  /**
   * How long the check may take, in ms, if that is longer than the time limit of the others. A check that waits for
   * something that the server itself announces has such a limit.
   */
  limitMs?(context: Context): number
  /**
   * Resolves if the rule holds. Throws `NotHeld` if it does not, `Untested` if that cannot be found out,
   * and `LeftOut` if the server does not have what the rule is about.
   */
  run(context: Context): Promise<void>
}
