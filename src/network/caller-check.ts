import { UnauthenticatedError } from '../base/errors.ts'

/** A token or a key; `undefined` if cookies may authenticate the client. */
type Sent = { readonly value: string } | undefined

/**
 * Compares the caller that each response names with the first one, which is stored with the data (docs/protocol.md,
 * "Whose data").
 */
export class CallerCheck {
  /** The owner of the data; `undefined` until a response or the stored copy has named one. */
  caller: string | undefined
  /** The token or key of the last read that was answered for the right caller. */
  #readWith: string | undefined
  readonly #refuseIf = createUserCheck()

  /** Whether `caller` differs from the first one. Keeps the first one. */
  isOther(caller: string | undefined): boolean {
    this.caller ??= caller
    return caller !== undefined && caller !== this.caller
  }

  /** The data on the disk belongs to `caller`. */
  adopt(caller: string): void {
    if (caller !== this.caller) this.#readWith = undefined
    this.caller = caller
  }

  /** Throws an UnauthenticatedError of code `other_user` if a response is for another caller. */
  check(caller: string | undefined): void {
    if (caller !== undefined) this.#refuseIf(this.isOther(caller))
  }

  /**
   * Checks the response to a read with `credential`. If it is for the right caller, transactions may be sent with
   * `credential`.
   */
  checkRead(caller: string | undefined, credential: Sent): void {
    this.#readWith = undefined
    this.check(caller)
    this.#readWith = credential?.value
  }

  /** Whether a read has to be answered before transactions are sent with `credential`. Cookies can change unnoticed. */
  needsRead(credential: Sent): boolean {
    return this.caller !== undefined && (!credential || credential.value !== this.#readWith)
  }
}

/**
 * Returns a function that throws an UnauthenticatedError of code `other_user` if the credentials are another user's.
 * The error is the same object until the right credentials are back, so that the application is notified once.
 */
export function createUserCheck(): (isOther: boolean | undefined) => void {
  let error: UnauthenticatedError | undefined
  return (isOther) => {
    const message = 'The data belongs to another user; sign in as that user and call `resume()`.'
    error = isOther ? (error ?? new UnauthenticatedError(message, { code: 'other_user' })) : undefined
    if (error) throw error
  }
}
