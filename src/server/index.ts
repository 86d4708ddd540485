export { ConfigurationError, isSyncError, SyncError } from '../base/errors.ts'
export type { SyncFrame } from '../protocol/frame.ts'
export type { Rejection, RejectionCode, TxOp, WireTransaction } from '../protocol/tx.ts'
export { type AttachedSockets, attachSockets } from './attach-sockets.ts'
export { anyOf, forTokens, looksLikeJwt } from './auth/any-of.ts'
export {
  type ApiKey,
  type ApiKeyOptions,
  apiKeyAuthentication,
  type IssuingKeyStore,
  type KeyStore,
  memoryKeyStore,
  sqlKeyStore,
} from './auth/api-key.ts'
export { type CachedAuthenticate, type CacheOptions, cached } from './auth/cached.ts'
export type { Authenticate, Caller, Refusal, RefusalCode } from './auth/caller.ts'
export { bearerToken } from './auth/credentials.ts'
export { type JwtOptions, type JwtRules, jwtAuthentication } from './auth/jwt.ts'
export type { AsymmetricAlgorithm, JwtKeySet, JwtSecret } from './auth/jwt-keys.ts'
export { type OAuthOptions, oauthAuthentication } from './auth/oauth.ts'
export {
  type IntrospectionOptions,
  introspection,
  type OAuthProfile,
  type ProfileOf,
  userinfo,
} from './auth/oauth-provider.ts'
export type { ProviderAddress } from './auth/provider-call.ts'
export type { CredentialOwner, IssuedSecret, IssuerOptions, SecretIssuer } from './auth/secret-issuer.ts'
export type { RevokeFilter } from './auth/secret-table.ts'
export {
  type IssuingSessionStore,
  memorySessionStore,
  type NewSession,
  type Session,
  type SessionOptions,
  type SessionStore,
  sessionAuthentication,
  sqlSessionStore,
} from './auth/session.ts'
export { type SignTokenOptions, signToken } from './auth/sign-token.ts'
export { createAuthTables, type RunSql } from './auth/sql-secret-table.ts'
export type { Commit, CommittedBy, OnCommit } from './change-hook.ts'
export { createSyncService } from './create-sync-service.ts'
export type { ActAs } from './http/act-as.ts'
export type { Authorization, Authorize, AuthorizeContext } from './http/authorize.ts'
export type { Endpoint } from './http/env.ts'
export type { Prepare, PrepareContext } from './http/prepare.ts'
export type { DatabaseRole } from './log/database-role.ts'
export type {
  Changes,
  ClientTransaction,
  CommittedChange,
  Effect,
  Judge,
  ListedRecord,
  Log,
  LoggedChange,
  LogRead,
  OnCommitted,
  Position,
  ReadRecord,
  RecordKey,
  RecordPage,
  Rules,
  Ruling,
  Snapshot,
  StoredRecord,
  Verdict,
  WriteResult,
} from './log/log.ts'
export { MemoryLog } from './log/memory-log.ts'
export { WriteRejectedError } from './log/rejection.ts'
export type { Retention } from './log/retention.ts'
export { openSqlLog, type SqlLogOptions } from './log/sql/open.ts'
export type { SqlLog, SqlQuery, SqlRow } from './log/sql/sql-log.ts'
export { type NodeHandler, nodeHandler } from './node-handler.ts'
export type { Metrics, ResponseInfo, ServiceState } from './ops/metrics.ts'
export { type PinoLike, pinoLogger } from './ops/pino-logger.ts'
export { type PrometheusOptions, type PrometheusRegistry, prometheusMetrics } from './ops/prometheus.ts'
export type { RateLimit } from './ops/rate-limit.ts'
export { type Rate, type RateLimiterOptions, type RatePool, rateLimiter } from './ops/rate-limiter.ts'
export type { SyncServiceOptions } from './options.ts'
export type { RecordQuery } from './query-records.ts'
export type { AcceptSocket, ServerSocket } from './realtime/server-socket.ts'
export type { DataRecord, RecordReader } from './record.ts'
export type { RemoveOptions } from './remove-owner.ts'
export { type RunningServer, type ServeOptions, serve } from './serve.ts'
export type { SyncService } from './service.ts'
export type { TableCheck } from './tables/check-tables.ts'
export type { FieldColumn, OwnerColumn, TableMapping, TableMappings } from './tables/mapping.ts'
