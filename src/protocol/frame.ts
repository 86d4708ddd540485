import type * as z from 'zod/mini'
import { isName, isPayload, isSid } from './guards.ts'
import { isDeeperThan, isObject, maxDepth, noFields } from './json.ts'
import type { syncFrameSchema } from './schema/frame.ts'

export type SyncFrame = Readonly<z.infer<typeof syncFrameSchema>>

/**
 * Returns `value` as a frame, or the reason why it is not one. Accepts what {@link syncFrameSchema} accepts, and limits
 * the depth.
 */
export function readFrame(value: unknown): SyncFrame | string {
  if (!isObject(value)) return 'a frame is not an object'
  const { sid, t, id, op, p = noFields, at, tx } = value
  if (!isSid(sid)) return 'a frame has no usable `sid`'
  if (!isName(t)) return `the frame ${sid} has no usable type \`t\``
  if (!isName(id)) return `the frame ${sid} has no usable \`id\``
  const more = at === undefined && tx === undefined ? undefined : extras(at, tx)
  if (op === 'd') return { op, sid, t, id, ...more }
  if (op !== 'i' && op !== 'u') return `the frame ${sid} has an unknown \`op\``
  if (!isPayload(p)) return `the frame ${sid} has no usable payload \`p\``
  if (isDeeperThan(maxDepth - 1, p)) return `the frame ${sid} nests deeper than ${maxDepth} levels`
  return { op, sid, t, id, p, ...more }
}

function extras(at: unknown, tx: unknown) {
  return {
    ...(typeof at === 'number' && Number.isFinite(at) ? { at } : undefined),
    ...(typeof tx === 'string' ? { tx } : undefined),
  }
}
