import { isObject, type Payload } from './json.ts'

/** The name that has a special meaning in JavaScript: refused as a type, an id or a field. */
const reserved = '__proto__'

/**
 * Whether `value` is a position in the history: a safe integer. Numbers beyond 2^53 - 1 are not exact (RFC 8259,
 * section 6).
 */
export function isSid(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/** Whether `value` can be the name of a type or the id of a record: any string but `__proto__`. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== reserved
}

/** Whether `epoch` names another history than `known` does. `false` if either names none: a server need not do so. */
export function isOtherEpoch(
  known: { readonly epoch?: string | undefined },
  epoch: string | undefined,
): boolean {
  return epoch !== undefined && known.epoch !== undefined && epoch !== known.epoch
}

export function isPayload(value: unknown): value is Payload {
  return isObject(value) && !Object.hasOwn(value, reserved)
}

/** Returns the `epoch` and the `caller` that a message or a stored value names. */
export function epochAndCallerOf({ epoch, caller }: { readonly [name: string]: unknown }): {
  readonly epoch?: string
  readonly caller?: string
} {
  return {
    ...(typeof epoch === 'string' ? { epoch } : undefined),
    ...(typeof caller === 'string' ? { caller } : undefined),
  }
}

/** Accepts what {@link featuresSchema} accepts. */
export function featuresOf({ features }: { readonly [name: string]: unknown }): {
  readonly features?: readonly string[]
} {
  return isTexts(features) ? { features } : {}
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

export function isCount(value: unknown): value is number {
  return isSid(value) && value >= 0
}
