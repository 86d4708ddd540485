import type { Emitter } from '../base/emitter.ts'
import type { Replica } from '../replica/replica.ts'
import type { SyncEvents } from './events.ts'
import type { Status } from './status.ts'
import type { Writer } from './writer.ts'

/** What keeps one copy in step: by itself, or by following another that does. The facade knows no more of it. */
export interface Session {
  readonly replica: Replica
  readonly status: Status
  readonly events: Emitter<SyncEvents>
  readonly writer: Writer
  /** Restores what is stored, and begins to keep in step. Never waits for the network. */
  start(): Promise<void>
  /** Offline by choice: resolves once nothing is under way. What is here can be read on. */
  stop(): Promise<void>
  /** One bootstrap or delta, shared by all who ask meanwhile. */
  sync(): Promise<SyncResult>
  /** The records of `t` are wanted here: where they have stayed on the disk, they are loaded. */
  use(t: string): void
  /** Ends the pause after a 401, with a new token or with what the token function now gives. */
  resume(token?: string): void
  /** Ends everything; what was accepted for storing is stored first. */
  close(): Promise<void>
}

/** What one fetch brought; it is applied and durable. */
export interface SyncResult {
  readonly kind: 'bootstrap' | 'delta'
  /** Up to here: `lastSyncId` may be above it, by a push that is shown and yet to be confirmed. */
  readonly sid: number
  /** Records that changed; of a bootstrap, rows that came. */
  readonly changes: number
}
