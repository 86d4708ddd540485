import type * as z from 'zod/mini'
import type {
  txOpSchema,
  txRequestSchema,
  txResponseSchema,
  txResultSchema,
  wireTransactionSchema,
} from './schema/tx.ts'

export type TxOp = Readonly<z.infer<typeof txOpSchema>>
export type WireTransaction = Readonly<z.infer<typeof wireTransactionSchema>>
export type TxRequest = Readonly<z.infer<typeof txRequestSchema>>
export type TxResult = Readonly<z.infer<typeof txResultSchema>>
export type TxResponse = Readonly<z.infer<typeof txResponseSchema>>

/** Why a transaction was refused. */
export const rejectionCodes = [
  'conflict',
  'exists',
  'not_found',
  'forbidden',
  'invalid',
  'too_large',
  'expired',
  'id_reused',
  'dependency_rejected',
] as const

export type RejectionCode = (typeof rejectionCodes)[number]
