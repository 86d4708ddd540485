import * as z from 'zod/mini'
import { isObject, type Payload } from './json.ts'

/** The name that JavaScript gives a meaning of its own: refused as a type, an id or a field. */
const reserved = '__proto__'

/** A type's name or a record's id: any string but `__proto__`. */
export const nameSchema = z.string().check(z.refine((name) => name !== reserved))

/** A position in the history: a safe integer, since a number beyond 2^53 - 1 is no longer exact (RFC 8259, section 6). */
export const sidSchema = z.int()

/** Passed through by reference: a schema that walked it would copy it and drop what it does not know. */
export const payloadSchema = z.custom<Payload>((value) => isObject(value) && !Object.hasOwn(value, reserved))

const absent = z.pipe(
  z.unknown(),
  z.transform((): undefined => undefined),
)

/** For a field that is no condition of the message: of another type, it counts as absent. */
export function lenient<Schema extends z.ZodMiniType>(schema: Schema) {
  return z.optional(z.union([schema, absent]))
}

export function isSid(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== reserved
}

export function isPayload(value: unknown): value is Payload {
  return isObject(value) && !Object.hasOwn(value, reserved)
}
