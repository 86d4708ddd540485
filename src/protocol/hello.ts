import type * as z from 'zod/mini'
import { epochAndCallerOf, featuresOf, isSid } from './guards.ts'
import { isObject } from './json.ts'
import type { helloSchema } from './schema/hello.ts'

export type Hello = Readonly<z.infer<typeof helloSchema>['hello']>

/** Reads the first message on a socket. Accepts the values that {@link helloSchema} accepts. */
export function readHello(value: unknown): Hello | undefined {
  if (!isObject(value) || !isSid(value.sid)) return undefined
  const { sid, heartbeatMs } = value
  return {
    sid,
    ...epochAndCallerOf(value),
    ...featuresOf(value),
    ...(typeof heartbeatMs === 'number' && heartbeatMs > 0 && Number.isFinite(heartbeatMs)
      ? { heartbeatMs }
      : undefined),
  }
}
