import * as z from 'zod/mini'
import { isDeeperThan, isObject, maxDepth, type Payload } from './json.ts'
import { isName, isPayload, isSid, lenient, nameSchema, payloadSchema, sidSchema } from './schemas.ts'

const common = {
  sid: sidSchema,
  t: nameSchema,
  id: nameSchema,
  /** When it was made, in ms since the epoch. Told to the application, never used for order. */
  at: lenient(z.number()),
  /** The id of the transaction that made it. */
  tx: lenient(z.string()),
}

const noFields: Payload = {}
const fieldsSchema = z._default(payloadSchema, noFields)

/** One change (the interface's "SyncFrame"). */
export const syncFrameSchema = z.discriminatedUnion('op', [
  /** Adds the record, or replaces it whole. */
  z.object({ op: z.literal('i'), ...common, p: fieldsSchema }),
  /** Replaces the fields it lists; none can be removed. */
  z.object({ op: z.literal('u'), ...common, p: fieldsSchema }),
  /** Removes the record. */
  z.object({ op: z.literal('d'), ...common }),
])

export type SyncFrame = Readonly<z.infer<typeof syncFrameSchema>>

/** `value` as a frame, or what is wrong with it. It holds what {@link syncFrameSchema} holds, and limits the depth. */
export function readFrame(value: unknown): SyncFrame | string {
  if (!isObject(value)) return 'a frame is not an object'
  const { sid, t, id, op, p = noFields } = value
  if (!isSid(sid)) return 'a frame has no usable `sid`'
  if (!isName(t)) return `the frame ${sid} has no usable type \`t\``
  if (!isName(id)) return `the frame ${sid} has no usable \`id\``
  const rest = { sid, t, id, ...extras(value) }
  if (op === 'd') return { op, ...rest }
  if (op !== 'i' && op !== 'u') return `the frame ${sid} has an unknown \`op\``
  if (!isPayload(p)) return `the frame ${sid} has no usable payload \`p\``
  if (isDeeperThan(maxDepth - 1, p)) return `the frame ${sid} nests deeper than ${maxDepth} levels`
  return { op, ...rest, p }
}

function extras({ at, tx }: { readonly [name: string]: unknown }) {
  return {
    ...(typeof at === 'number' && Number.isFinite(at) ? { at } : undefined),
    ...(typeof tx === 'string' ? { tx } : undefined),
  }
}
