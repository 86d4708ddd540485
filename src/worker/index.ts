export type { SnapshotWorker } from '../transport/snapshot.ts'
export type { WorkerLike } from './conversation.ts'
export { type ServeSnapshotsOptions, serveSnapshots, type WorkerScope } from './serve-snapshots.ts'
export { snapshotWorker } from './snapshot-worker.ts'
