export { ConfigurationError, isSyncError, SyncError } from '../base/errors.ts'
export type { RejectionCode, TxOp } from '../protocol/tx.ts'
export type { Authenticate, Caller, OwnerField, Refusal, RefusalCode } from './auth/caller.ts'
export { bearerToken } from './auth/credentials.ts'
export { type JwtOptions, jwtAuthentication } from './auth/jwt.ts'
export { type SignTokenOptions, signToken } from './auth/sign-token.ts'
export type {
  Changes,
  Judge,
  Log,
  LoggedChange,
  Position,
  Read,
  Snapshot,
  StoredRecord,
  Told,
  Verdict,
} from './log/log.ts'
export { MemoryLog } from './log/memory-log.ts'
export { WriteRejectedError } from './log/rejection.ts'
export type { SyncServiceOptions } from './options.ts'
export type { AcceptSocket, ServerSocket } from './realtime/server-socket.ts'
export { type Served, type ServeOptions, serve } from './serve.ts'
export { createSyncService, type SyncService } from './service.ts'
