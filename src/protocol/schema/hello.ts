import * as z from 'zod/mini'
import { featuresSchema, lenient, sidSchema } from './parts.ts'

/** The first message of a socket, if the service supports the extension. */
export const helloSchema = z.object({
  hello: z.object({
    /** Every visible change above this position will be pushed on this socket. */
    sid: sidSchema,
    epoch: lenient(z.string()),
    /** The user of the socket. */
    caller: lenient(z.string()),
    features: featuresSchema,
    /** The longest time between two messages, in ms. */
    heartbeatMs: lenient(z.number().check(z.positive())),
  }),
})
