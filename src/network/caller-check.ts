import { UnauthenticatedError } from '../base/errors.ts'

/** A token or a key; `undefined` if a cookie may speak for the client. */
type Sent = { readonly value: string } | undefined

/**
 * Compares the caller that answers name with the first one that was seen, which is stored with the data
 * (docs/protocol.md, "Whose data").
 */
export class CallerCheck {
  /** Whose data it is; `undefined` until an answer or a stored copy has said it. */
  caller: string | undefined
  /** The token or key with which a read was last answered to the right caller. */
  #readWith: string | undefined
  readonly #refuseIf = refusal()

  /** Whether `caller` is another one than the first. The first one is kept. */
  isOther(caller: string | undefined): boolean {
    this.caller ??= caller
    return caller !== undefined && caller !== this.caller
  }

  /** Throws an UnauthenticatedError of code `other_user` if an answer is for another caller. */
  check(caller: string | undefined): void {
    if (caller !== undefined) this.#refuseIf(this.isOther(caller))
  }

  /** Checks the answer to a read with `credential`, with which transactions may be sent from now on. */
  checkRead(caller: string | undefined, credential: Sent): void {
    this.#readWith = undefined
    this.check(caller)
    this.#readWith = credential?.value
  }

  /** Whether a read has to be answered before transactions are sent with `credential`. Cookies change unseen. */
  needsRead(credential: Sent): boolean {
    return this.caller !== undefined && (!credential || credential.value !== this.#readWith)
  }
}

/**
 * A function that throws an UnauthenticatedError of code `other_user` if the credentials are another user's than the data:
 * the same one until the right ones are back, so that the application is told once.
 */
export function refusal(): (isOther: boolean | undefined) => void {
  let error: UnauthenticatedError | undefined
  return (isOther) => {
    const message = 'The credentials belong to another user than the data; sign in, then call `resume()`.'
    error = isOther ? (error ?? new UnauthenticatedError(message, { code: 'other_user' })) : undefined
    if (error) throw error
  }
}
