import { isObject, type Payload } from './json.ts'

/** The name that JavaScript gives a meaning of its own: refused as a type, an id or a field. */
const reserved = '__proto__'

/** A position in the history: a safe integer, since a number beyond 2^53 - 1 is no longer exact (RFC 8259, section 6). */
export function isSid(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/** A type's name or a record's id: any string but `__proto__`. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== reserved
}

/** Whether `epoch` names another history than that of `known`. It counts only where both are known: a server need not say it. */
export function isOtherEpoch(
  known: { readonly epoch?: string | undefined },
  epoch: string | undefined,
): boolean {
  return epoch !== undefined && known.epoch !== undefined && epoch !== known.epoch
}

export function isPayload(value: unknown): value is Payload {
  return isObject(value) && !Object.hasOwn(value, reserved)
}

/** The `epoch` and the `caller` that a message names, or something stored. */
export function namesOf({ epoch, caller }: { readonly [name: string]: unknown }): {
  readonly epoch?: string
  readonly caller?: string
} {
  return {
    ...(typeof epoch === 'string' ? { epoch } : undefined),
    ...(typeof caller === 'string' ? { caller } : undefined),
  }
}

export function isCount(value: unknown): value is number {
  return isSid(value) && value >= 0
}
