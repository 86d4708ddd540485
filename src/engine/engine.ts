import type { Emitter } from '../base/emitter.ts'
import type { SyncError } from '../base/errors.ts'
import type { Mutations } from '../mutations/mutations.ts'
import type { Replica } from '../records/replica.ts'
import { close, endSignedOut, halt } from './ending.ts'
import type { EngineOptions } from './engine-options.ts'
import type { SyncEvents } from './events.ts'
import { handlers } from './handlers.ts'
import { type LogoutOptions, type LogoutResult, logout } from './logout.ts'
import { onResumed } from './on-credentials.ts'
import { onLifecycle } from './on-lifecycle.ts'
import { Parts } from './parts.ts'
import type { Status } from './status.ts'
import type { SyncResult } from './sync-result.ts'

/**
 * Keeps the local copy in step with the server. The methods are what an application can call; the work is done by
 * `Parts`.
 */
export class Engine {
  readonly #parts: Parts

  constructor(options: EngineOptions) {
    this.#parts = new Parts(options, handlers)
  }

  get events(): Emitter<SyncEvents> {
    return this.#parts.events
  }

  get mutations(): Mutations {
    return this.#parts.mutations
  }

  get replica(): Replica {
    return this.#parts.options.replica
  }

  get status(): Status {
    return this.#parts.board.status
  }

  /** Restores the stored data and starts syncing. Never waits for the network. */
  async start(): Promise<void> {
    this.#refuseEnded()
    if (this.#parts.state.lifecycle !== 'running') this.#run()
    await this.#parts.disk.open()
  }

  /** Stops syncing. Resolves once no request is running. The data stays readable. */
  async stop(): Promise<void> {
    this.#refuseEnded()
    const { lifecycle } = this.#parts.state
    await halt(this.#parts, lifecycle === 'running' ? 'stopped' : lifecycle)
    this.#parts.leadership.stop()
  }

  /** Fetches one bootstrap or delta. Calls that overlap share one fetch. */
  async sync(): Promise<SyncResult> {
    this.#refuseEnded()
    return this.#parts.sync()
  }

  /** Marks the type `t` as used. A lazy type that is still on disk starts to load. */
  use(t: string): void {
    this.#parts.copy.use(t)
  }

  /** Ends the pause after a 401, with `token` or with the current result of the token function. */
  resume(token?: string): void {
    this.#refuseEnded()
    this.#parts.following.resume(token)
    onResumed(this.#parts, token)
    this.#parts.commit.now()
  }

  /** Asks the browser to keep the stored data. Resolves with whether it does. */
  async requestPersistence(): Promise<boolean> {
    this.#refuseEnded()
    return this.#parts.originStorage.requestPersistence()
  }

  /** See `SyncClient.logout`. */
  async logout(logoutOptions: LogoutOptions): Promise<LogoutResult> {
    this.#refuseEnded()
    const { options, disk, mutations, following } = this.#parts
    const { environment, database, destroyDatabase: destroy } = options
    const { newLife } = database
    const { clock } = environment
    const end = async () => {
      const silentTabs = following.announceSignOut()
      await endSignedOut(this.#parts, true)
      return silentTabs
    }
    const status = () => this.status
    const sync = () => this.sync()
    return logout({ clock, newLife, disk, mutations, status, sync, end, destroy }, logoutOptions)
  }

  /** Reports an error that no caller can catch. */
  report(error: SyncError): void {
    this.#parts.reporter.error(error)
  }

  /** Closes the engine for good. Resolves when all pending data and writes are stored. */
  close(): Promise<void> {
    return close(this.#parts)
  }

  #run(): void {
    const parts = this.#parts
    const { options, state } = parts
    options.credentials.forget()
    state.hasFetched = false
    state.lifecycle = 'running'
    state.unsubscribe = options.environment.lifecycle.subscribe((event) => onLifecycle(parts, event))
    parts.leadership.start()
    parts.following.begin()
    parts.polls.start()
    parts.dispatch('start')
    parts.commit.now()
  }

  #refuseEnded(): void {
    const { ended } = this.#parts
    if (ended) throw ended
  }
}
