import * as z from 'zod/mini'
import { lenient, sidSchema } from './parts.ts'

/** The first message of a socket, from a service that gives the extensions. */
export const helloSchema = z.object({
  hello: z.object({
    /** Every visible change above it will be pushed on this socket. */
    sid: sidSchema,
    epoch: lenient(z.string()),
    /** Stands for the user whose socket it is. */
    caller: lenient(z.string()),
    /** The longest silence to expect, in ms. */
    heartbeatMs: lenient(z.number().check(z.positive())),
  }),
})
