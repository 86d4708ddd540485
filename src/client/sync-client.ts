import type { Listener, Unsubscribe } from '../base/emitter.ts'
import type { SyncError } from '../base/errors.ts'
import { randomName } from '../base/ids.ts'
import { spreadOnline } from '../base/spread-online.ts'
import { Engine } from '../engine/engine.ts'
import type { SyncEvents } from '../engine/events.ts'
import type { LogoutOptions, LogoutResult } from '../engine/logout.ts'
import type { Status } from '../engine/status.ts'
import type { SyncResult } from '../engine/sync-result.ts'
import { refuseUnknownNames } from '../models/known-names.ts'
import type { Index } from '../models/model.ts'
import type { ModelDefinitions, Models } from '../models/models.ts'
import type { DefinitionsOf } from '../models/record-of.ts'
import type { Where } from '../models/where.ts'
import type { Mutator } from '../mutations/draft.ts'
import type { Transaction } from '../mutations/transaction.ts'
import type { MutateOptions } from '../mutations/writer.ts'
import { createCredentials } from '../network/credentials.ts'
import { type Endpoints, formerUrls, resolveEndpoints } from '../network/endpoints.ts'
import { createTransport } from '../network/http.ts'
import { createRealtimeSocket } from '../network/realtime-socket.ts'
import type { LiveQuery } from '../records/live-query.ts'
import type { QuerySpec } from '../records/query-spec.ts'
import { Replica } from '../records/replica.ts'
import { withTimeLimits } from '../storage/deadline.ts'
import { hasDeleted } from '../storage/deleted.ts'
import { withOpenLock } from '../storage/open-lock.ts'
import type { SharedParts } from '../storage/store.ts'
import { databaseName } from './databases.ts'
import { takeOver } from './moved.ts'
import { resolveOptions, type SyncClientOptions } from './options.ts'
import type { ConfirmedRecord, NameOf, NotAsync, OutboxView, RecordFor, TypedMutator } from './types.ts'
import { whenReady } from './when-ready.ts'

/** The shared parts of a client that does not know of other clients of its database: none. */
const alone: Required<SharedParts> = {
  locks: undefined,
  BroadcastChannel: undefined,
  storageManager: undefined,
  localStorage: undefined,
}

/**
 * A local copy of an application's data that stays in step with a server. The constructor has no side effects: call
 * `start()` to begin. With models, the type of a client is {@link ClientOf}: `ClientOf<typeof models>`.
 *
 * @example
 * const client = new SyncClient({ baseUrl: 'https://api.example.com/sync/v1', token, identity: user.id, store:
 * indexedDbStore() }) await client.start() await client.ready() client.get('Issue', 'i1')
 */
export class SyncClient<out M extends ModelDefinitions = ModelDefinitions> {
  /** The resolved addresses of the server. */
  readonly endpoints: Endpoints
  /** The transactions that the data from the server does not contain yet, and those that the server rejected. */
  readonly outbox: OutboxView<M>
  readonly #engine: Engine
  readonly #models: Models

  /** Throws a ConfigurationError that names the first wrong option and the expected value. */
  constructor(options: SyncClientOptions<M>) {
    const {
      environment: given,
      logger,
      store,
      identity,
      models,
      movedFrom,
      ...rest
    } = resolveOptions(options)
    const endpoints = resolveEndpoints(rest.endpoints, given.location)
    const credentials = createCredentials(rest.credentials, identity)
    const { debug } = logger
    this.endpoints = endpoints
    this.#models = models
    const name = databaseName(endpoints.bootstrapUrl, identity ?? '')
    const wanted = identity === null ? undefined : store
    const shared = wanted?.shared?.(name, given)
    const environment = { ...given, ...alone, ...shared, lifecycle: spreadOnline(given) }
    const { locks } = environment
    const former = movedFrom?.flatMap((address) => formerUrls(address, given.location))
    let looking: Promise<void> | undefined
    // An open connection to a browser's database blocks its deletion.
    const isBrowsers = shared !== undefined && shared.locks === given.locks
    const opener = wanted && isBrowsers ? withOpenLock(wanted, locks, environment.clock) : wanted
    const limited = opener && withTimeLimits(opener, environment.clock, undefined, debug)
    const moved = limited && {
      store: limited,
      names: wanted?.names,
      openLocks: isBrowsers ? locks : undefined,
      clock: environment.clock,
      name,
      former: former?.map((url) => databaseName(url, identity ?? '')),
      report: (error: SyncError) => this.#engine.report(error),
    }
    this.#engine = new Engine({
      ...rest,
      environment,
      logger,
      credentials,
      models,
      canWrite: endpoints.txUrl !== undefined,
      transport: createTransport({ environment, endpoints, credentials, debug }),
      createSocket: (listener) =>
        createRealtimeSocket({ environment, wsUrl: endpoints.wsUrl, credentials, listener, debug }),
      lock: locks && { locks, name },
      name,
      database: {
        store: limited,
        name,
        lifecycle: environment.lifecycle,
        newLife: () => randomName(environment.random),
        caller: () => credentials.callerCheck.caller,
        // Only a browser evicts data.
        wasDeleted: async () => !isBrowsers || !limited || hasDeleted(limited),
      },
      takeOver: async (disk) => {
        if (moved && disk.leads) looking ??= takeOver(moved, disk)
        if (former) await looking
      },
      destroyDatabase: async () => limited?.destroy(name),
      replica: new Replica({
        clock: environment.clock,
        onListenerError: (error) => logger.error('A listener or a filter threw.', { error }),
        indexes: indexesOf(models),
      }),
    })
    // Models exist only as types here: the mutator's records are the same with and without models.
    this.outbox = this.#engine.mutations.outbox as OutboxView<M>
  }

  /** The current status. The same object until something changes. */
  get status(): Status {
    return this.#engine.status
  }

  /** The `sid` up to which the records in memory reflect the server's changes; 0 before there is data. */
  get lastSyncId(): number {
    return this.status.lastSyncId
  }

  /**
   * Restores the stored data and starts syncing. Resolves when the stored data can be read, and never waits for the
   * network. Further calls while the client runs have no effect. Rejects with a ClosedError after `close`.
   */
  start(): Promise<void> {
    return this.#engine.start()
  }

  /**
   * Resolves when there is complete data, restored or fetched. Stays pending while there is none, for example offline.
   * Rejects with a ClosedError when the client is closed, and with the reason of `signal` when that aborts.
   */
  ready({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    return whenReady(this.#engine, signal)
  }

  /**
   * Loads the records of the lazy type `t` (`load: 'lazy'`) from the disk, as the first use of the type does. Resolves
   * when the records can be read and written; for any other type, when `ready` does. Offline, the promise stays pending
   * if there is no data or the disk cannot return the records. Rejects as `ready` does.
   */
  load<T extends NameOf<M>>(
    t: T,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    this.#engine.use(t)
    return whenReady(this.#engine, signal, t)
  }

  /**
   * Fetches one bootstrap or delta. Calls that overlap share one fetch. Resolves when the result is applied and
   * durable; in a follower, when it is applied. Works before `start` and while syncing is paused.
   *
   * Rejects with an UnauthenticatedError, HttpError, NetworkError, ProtocolError or ClosedError, or with a
   * ConfigurationError if a header cannot carry the credential. The data is then unchanged, and a running client tries
   * again by itself. Rejects with a StorageError if the result is applied but could not be stored.
   */
  sync(): Promise<SyncResult> {
    return this.#engine.sync()
  }

  /**
   * Stops syncing until the next `start`. Resolves once no request is running. Data can still be read and written.
   * Rejects with a ClosedError after `close`.
   */
  stop(): Promise<void> {
    return this.#engine.stop()
  }

  /**
   * Signs the user out on this device: ends every tab of this identity, and deletes the local data. Resolves once both
   * are done. A later client of the same identity starts with an empty database, or with the kept transactions. Works
   * in every tab, before `start`, and while syncing is paused. The data of other identities is not touched.
   *
   * Rejects with a PendingError, and changes nothing, if transactions are unsent or rejected and `pending` is missing;
   * with `flush`, if the client is offline, if the time is over, or if the server has rejected some. Without a store,
   * `keep` rejects in the same way. Rejects with a StorageError if the data could not be deleted, with a
   * ConfigurationError for a wrong option, and with a ClosedError after `close`.
   */
  logout(options: LogoutOptions = {}): Promise<LogoutResult> {
    return this.#engine.logout(options)
  }

  /** Ends the client for good. Resolves when all pending data and writes are stored. Further calls have no effect. */
  close(): Promise<void> {
    return this.#engine.close()
  }

  /**
   * Asks the browser to keep the stored data until the user deletes it. Resolves with whether it does: `false` also if
   * the store is not a browser's. Call it in the handler of a click, since a browser may ask the user. `status.storage`
   * has the result as `persisted`. Rejects with a ClosedError after `close`.
   */
  requestPersistence(): Promise<boolean> {
    return this.#engine.requestPersistence()
  }

  /**
   * Ends the pause after a 401, with `token` or with the current result of the token function. `token` is used until
   * that function returns another one than before. If two tokens in a row were refused, the client waits before it uses
   * the next one, longer each time. Throws a ClosedError after `close`, and a ConfigurationError if a header cannot
   * carry `token`.
   */
  resume(token?: string): void {
    this.#engine.resume(token)
  }

  /**
   * Runs `body` synchronously, and returns the transaction of its writes. The writes are shown at once, online or
   * offline; then they are stored and sent. `body` can read its own writes. Its result is not returned: to use the id of a
   * new record afterwards, give the record an `id`, or assign the result of `insert` to a variable.
   *
   * If `mutate` throws, nothing has changed. It throws whatever `body` throws, and:
   * - a ValidationError for a value that breaks its model or is not JSON, and, with the code `not_loaded`, for a record
   *   of a lazy type that is not loaded;
   * - a ConfigurationError for a wrong option, without a `txUrl`, and if `body` is asynchronous or calls `mutate`;
   * - a RejectedError if a required transaction was rejected;
   * - a ClosedError after `close`.
   *
   * @example
   * const tx = client.mutate((m) => m.update('Issue', 'i1', { open: false }), { label: 'Close' })
   * await tx.synced
   */
  mutate<R>(body: (mutator: TypedMutator<M>) => NotAsync<R>, options: MutateOptions = {}): Transaction {
    // Models exist only as types here: the mutator's records are the same with and without models.
    return this.#engine.mutations.mutate(body as (mutator: Mutator) => unknown, options)
  }

  /**
   * Undoes the last step of this client by `tx.undo`: one transaction, or all transactions of a group. Resolves with
   * `false` if there is no step to undo, or if nothing of it can be taken back; the step is then dropped. Rejects as
   * `tx.undo` does; the transactions that are not undone can then be undone again.
   *
   * The client keeps its last 100 steps since it was created. A rejected transaction is no step; its `retry` is.
   */
  undo(): Promise<boolean> {
    return this.#engine.mutations.undo()
  }

  /** Whether there is a step to undo. `outbox.subscribe` also reports changes of `canUndo` and `canRedo`. */
  get canUndo(): boolean {
    return this.#engine.mutations.canUndo
  }

  /** Whether there is a step to redo. */
  get canRedo(): boolean {
    return this.#engine.mutations.canRedo
  }

  /**
   * Redoes the step that was undone last. Resolves with `false` if there is no step to redo. Rejects with what `mutate`
   * throws if a part of the step is not possible on the current data; nothing has changed then.
   */
  redo(): Promise<boolean> {
    return this.#engine.mutations.redo()
  }

  /**
   * Calls `listener` for each event `name`. Call the returned function to stop. If a listener throws, the error is
   * logged and the other listeners still run.
   *
   * When a listener is called, everything that it can read agrees: records, queries, status and outbox. Queries come
   * first, then `change`, `status` and `storage`, the outbox and its transactions, and other events; then promises
   * settle. A listener may change something, and reads the change at once. All listeners are called again for it, after
   * they have been called for the first change.
   */
  on<Name extends keyof SyncEvents>(name: Name, listener: Listener<SyncEvents[Name]>): Unsubscribe {
    return this.#engine.events.on(name, listener)
  }

  /** The record, with pending changes. The same object until the record changes; `undefined` if there is none. */
  get<T extends NameOf<M>>(t: T, id: string): RecordFor<M, T> | undefined {
    return this.#reader(t).get(t, id)
  }

  /** The records with the ids `ids`, in that order; `undefined` for each id without a record. */
  getMany<T extends NameOf<M>>(t: T, ids: readonly string[]): readonly (RecordFor<M, T> | undefined)[] {
    return this.#reader(t).getMany(t, ids)
  }

  /** All records of a type, in no particular order. The same array until one of the records changes. */
  all<T extends NameOf<M>>(t: T): readonly RecordFor<M, T>[] {
    return this.#reader(t).all(t)
  }

  /**
   * The number of records of a type, or of those that match `where`. Throws a ConfigurationError if `where` is wrong.
   */
  count<T extends NameOf<M>>(t: T, where?: Where<RecordFor<M, T>>): number {
    if (where) refuseUnknownNames(this.#models, t, { where })
    return this.#reader(t).count(t, where)
  }

  /**
   * The record as the server last sent it, without pending changes, and its version if the server numbers versions.
   * `undefined` if the server has not sent such a record.
   */
  confirmed<T extends NameOf<M>>(type: T, id: string): ConfirmedRecord<RecordFor<M, T>> | undefined {
    const { replica } = this.#engine
    this.#engine.use(type)
    const row = replica.confirmed(type, id)
    // Models exist only as types here: records are the same with and without models.
    return row && { record: replica.records.of(row) as RecordFor<M, T>, version: row.v }
  }

  /**
   * Creates a query. While a query has subscribers, each change updates its result; without, reading computes the
   * result. Throws a ConfigurationError that names the wrong part of `spec`.
   *
   * @example
   * const open = client.query('Issue', { where: { status: 'open' }, orderBy: [['createdAt', 'desc']], limit: 50 })
   * const stop = open.subscribe(({ rows }) => render(rows))
   */
  query<T extends NameOf<M>>(t: T, spec: QuerySpec<RecordFor<M, T>> = {}): LiveQuery<RecordFor<M, T>> {
    const query = this.#reader(t).query(t, spec)
    refuseUnknownNames(this.#models, t, spec)
    return query
  }

  /** Marks `t` as used, and returns the replica with the types of the models, which exist only at compile time. */
  #reader<T extends NameOf<M>>(t: T): TypedReader<RecordFor<M, T>> {
    this.#engine.use(t)
    return this.#engine.replica as unknown as TypedReader<RecordFor<M, T>>
  }
}

/** The type of a client with models. `M`: the type of the argument or of the result of `defineModels`. */
export type ClientOf<M extends ModelDefinitions | Models> = SyncClient<DefinitionsOf<M>>

interface TypedReader<R> {
  get(t: string, id: string): R | undefined
  getMany(t: string, ids: readonly string[]): readonly (R | undefined)[]
  all(t: string): readonly R[]
  count(t: string, where: Where<R> | undefined): number
  query(t: string, spec: QuerySpec<R>): LiveQuery<R>
}

function indexesOf(models: Models): ReadonlyMap<string, readonly Index[]> {
  return new Map([...models.types].map(([t, { indexes }]) => [t, indexes]))
}
