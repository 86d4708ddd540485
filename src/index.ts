export type { Listener, Unsubscribe } from './base/emitter.ts'
export { consoleLogger } from './base/environment.default.ts'
export type {
  BroadcastChannelConstructor,
  BroadcastChannelLike,
  Clock,
  Environment,
  Fetch,
  Lifecycle,
  LifecycleEvent,
  LocalStorageLike,
  Locks,
  Random,
  StorageManagerLike,
  WebSocketConstructor,
  WebSocketLike,
} from './base/environment.ts'
export {
  ClosedError,
  ConfigurationError,
  type ErrorClasses,
  type ErrorCodes,
  type ErrorName,
  HttpError,
  type HttpErrorDetails,
  isSyncError,
  NetworkError,
  PendingError,
  ProtocolError,
  RejectedError,
  StorageError,
  SyncError,
  type SyncErrorOptions,
  UnauthenticatedError,
  ValidationError,
  type ValidationErrorOptions,
  type ValidationIssue,
} from './base/errors.ts'
export { type Logger, silentLogger } from './base/logger.ts'
export { deleteDatabase, type LocalDatabase, listDatabases } from './client/databases.ts'
export type { SyncClientOptions } from './client/options.ts'
export { type ClientOf, SyncClient } from './client/sync-client.ts'
export type {
  ConfirmedRecord,
  Merge,
  MergeMutator,
  NameOf,
  NewRecord,
  OutboxView,
  RecordFor,
  TypedMutator,
} from './client/types.ts'
export type { ChangeEvent, OutdatedEvent, ResetEvent, ResetReason, SyncEvents } from './engine/events.ts'
export type { LogoutOptions, LogoutResult } from './engine/logout.ts'
export type { ConnectionStatus, DataStatus, Status } from './engine/status.ts'
export type { SyncResult } from './engine/sync-result.ts'
export type { CollatedField, OrderField, TextCondition } from './models/collated.ts'
export { type Collation, collation } from './models/collation.ts'
export { type Model, type ModelOptions, model } from './models/model.ts'
export {
  defineModels,
  type Migration,
  type Migrations,
  type ModelDefinitions,
  type Models,
  type ModelsOptions,
} from './models/models.ts'
export type { DefinitionsOf, RecordOf, TypeName } from './models/record-of.ts'
export type { StandardSchema } from './models/standard-schema.ts'
export type { Condition, Where } from './models/where.ts'
export type { Fields, WriteOptions } from './mutations/draft.ts'
export type { TouchedRecord, Transaction } from './mutations/transaction.ts'
export type { TransactionState } from './mutations/transaction-state.ts'
export type { ExportedOutbox, MutateOptions } from './mutations/writer.ts'
export type { CredentialSource } from './network/credentials.ts'
export type { EndpointAddresses, Endpoints } from './network/endpoints.ts'
export type { SnapshotProgress } from './network/transport.ts'
export type { OutboxRecord, RecordImage } from './persistence/outbox.ts'
export type { StorageStatus } from './persistence/storage-status.ts'
export type { Anomaly } from './protocol/anomaly.ts'
export type { JsonValue, Payload } from './protocol/json.ts'
export {
  type Rejection,
  type RejectionCode,
  standardTxCodec,
  type TxCodec,
  type TxOp,
  type TxResponse,
  type TxResult,
  type WireTransaction,
} from './protocol/tx.ts'
export type { LiveQuery } from './records/live-query.ts'
export type { Cursor, OrderTerm, QuerySpec } from './records/query-spec.ts'
export type { DataRecord } from './records/record.ts'
export type { RecordChange } from './records/shown-changes.ts'
export { type IndexedDbOptions, indexedDbStore } from './storage/indexeddb.ts'
export { memoryStore } from './storage/memory.ts'
export type {
  KeyRange,
  KeySpan,
  SharedParts,
  Store,
  StoreConnection,
  StoreTransaction,
  StoreValue,
  Table,
  TransactionOptions,
} from './storage/store.ts'
