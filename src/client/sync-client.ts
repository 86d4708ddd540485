import type { Listener, Unsubscribe } from '../base/emitter.ts'
import { Engine } from '../engine/engine.ts'
import type { SyncEvents } from '../engine/events.ts'
import type { Status } from '../engine/status.ts'
import type { SyncResult } from '../engine/sync-result.ts'
import type { Index } from '../models/model.ts'
import type { ModelDefinitions, Models } from '../models/models.ts'
import type { DefinitionsOf } from '../models/record-of.ts'
import type { Mutator } from '../mutations/draft.ts'
import type { Transaction } from '../mutations/transaction.ts'
import type { MutateOptions } from '../mutations/writer.ts'
import { createCredentials } from '../network/credentials.ts'
import { type Endpoints, resolveEndpoints } from '../network/endpoints.ts'
import { createTransport } from '../network/http.ts'
import { createRealtimeSocket } from '../network/realtime-socket.ts'
import { noDatabase } from '../persistence/none.ts'
import { openDatabase } from '../persistence/open.ts'
import type { LiveQuery } from '../records/live-query.ts'
import type { QuerySpec, Where } from '../records/query-spec.ts'
import { Replica } from '../records/replica.ts'
import { withTimeLimits } from '../storage/deadline.ts'
import { resolveOptions, type SyncClientOptions } from './options.ts'
import type { ConfirmedRecord, NameOf, NotAsync, OutboxView, RecordFor, TypedMutator } from './types.ts'
import { whenReady } from './when-ready.ts'

/**
 * A local copy of an application's data that keeps in step with a server. Making one has no effect outside; `start()`
 * begins. With models, its type is {@link ClientOf} them: `ClientOf<typeof models>`.
 *
 * @example
 * const client = new SyncClient({ baseUrl: 'https://api.example.com/sync/v1', token, identity: user.id, store: indexedDbStore() })
 * await client.start()
 * await client.ready()
 * client.get('Issue', 'i1')
 */
export class SyncClient<out M extends ModelDefinitions = ModelDefinitions> {
  /** The addresses that are used. */
  readonly endpoints: Endpoints
  /** What the user wrote and the data does not show yet, or the server refused. */
  readonly outbox: OutboxView<M>
  readonly #engine: Engine

  /** Throws a ConfigurationError that names the option which is wrong, and says what was expected. */
  constructor(options: SyncClientOptions<M>) {
    const { environment, logger, store, identity, models, ...rest } = resolveOptions(options)
    const endpoints = resolveEndpoints(rest.endpoints, environment.location)
    const credentials = createCredentials(rest.credentials, identity)
    this.endpoints = endpoints
    this.#engine = new Engine({
      ...rest,
      environment,
      logger,
      credentials,
      models,
      canWrite: endpoints.txUrl !== undefined,
      transport: createTransport({ environment, endpoints, credentials }),
      createSocket: (listener) =>
        createRealtimeSocket({ environment, wsUrl: endpoints.wsUrl, credentials, listener }),
      openDatabase: async (beside) =>
        store && identity !== null
          ? openDatabase({
              store: withTimeLimits(store, environment.clock),
              name: databaseName(endpoints, identity),
              clock: environment.clock,
              models,
              beside,
            })
          : noDatabase,
      replica: new Replica({
        clock: environment.clock,
        onListenerError: (error) => logger.error('A listener or a filter of a query threw.', { error }),
        indexes: indexesOf(models),
      }),
    })
    // The models say what the application may take the mutator's records for.
    this.outbox = this.#engine.mutations.outbox as OutboxView<M>
  }

  /** Where the client stands: the same object until something changes. */
  get status(): Status {
    return this.#engine.status
  }

  /** The position that is shown. */
  get lastSyncId(): number {
    return this.status.lastSyncId
  }

  /**
   * Restores what is stored, and begins to keep in step. Resolves when the local data is there to be read, and never
   * waits for the network. Safe to call again. Rejects with a ClosedError after `close`.
   */
  start(): Promise<void> {
    return this.#engine.start()
  }

  /**
   * Resolves when there is data to show, restored or fetched; offline, it stays pending until there is. Rejects with
   * a ClosedError on `close`, and with the signal's reason.
   */
  ready({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    return whenReady(this.#engine, signal)
  }

  /**
   * Brings the records of a type of `load: 'lazy'` from the disk, as its first use does. Resolves when they are there to
   * be read, or to be written on; of any other type, as `ready` does. Offline, it stays pending where neither the disk gives
   * them nor there is data. Rejects as `ready` does.
   */
  load<T extends NameOf<M>>(
    t: T,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    this.#engine.use(t)
    return whenReady(this.#engine, signal, t)
  }

  /**
   * One bootstrap or delta, shared by all who ask meanwhile. Resolves when what came is applied and durable. Works
   * before `start` and while paused. Rejects with an UnauthenticatedError, HttpError, NetworkError, ProtocolError,
   * ClosedError, or a ConfigurationError for a credential that no header can carry; the data is then as it was, and a
   * client that runs tries again by itself. Rejects with a StorageError where what came is applied, and could not be made
   * durable.
   */
  sync(): Promise<SyncResult> {
    return this.#engine.sync()
  }

  /**
   * Offline by choice, until the next `start`. Resolves once nothing is under way. Reading goes on. Rejects with a
   * ClosedError after `close`.
   */
  stop(): Promise<void> {
    return this.#engine.stop()
  }

  /** Ends the client for good, and resolves when what it took is stored. Safe to call again. */
  close(): Promise<void> {
    return this.#engine.close()
  }

  /**
   * Ends the pause after a 401, with a new token or with what the token function gives now. Throws a ClosedError after
   * `close`, and a ConfigurationError for a token that no header can carry.
   */
  resume(token?: string): void {
    this.#engine.resume(token)
  }

  /**
   * Runs `body` at once, and makes one transaction of what it writes: shown at once, durable and sent soon, on or
   * offline; `body` sees what it wrote. Throws a ValidationError for what breaks its model or is no JSON, and for a record
   * of a lazy type that is not loaded (`not_loaded`), a ConfigurationError for a wrong option, where the client has no
   * `txUrl`, or `body` is asynchronous or calls `mutate` itself, a RejectedError where what it requires was rejected, a
   * ClosedError, and whatever `body` throws; nothing has changed then.
   *
   * @example
   * const tx = client.mutate((m) => m.update('Issue', 'i1', { open: false }), { label: 'Close' })
   * await tx.synced
   */
  mutate<R>(body: (mutator: TypedMutator<M>) => NotAsync<R>, options: MutateOptions = {}): Transaction {
    // The models say what the application may take the mutator's records for.
    return this.#engine.mutations.mutate(body as (mutator: Mutator) => unknown, options)
  }

  /**
   * Takes back the last step that this client wrote, by `tx.undo`: a transaction, or those of a group. Resolves with whether
   * there was one. Rejects with what `tx.undo` rejects with; what is not undone then stays to be undone.
   */
  undo(): Promise<boolean> {
    return this.#engine.mutations.undo()
  }

  /** Whether there is something to undo. What `outbox.subscribe` tells includes that this, or `canRedo`, changed. */
  get canUndo(): boolean {
    return this.#engine.mutations.canUndo
  }

  /** Whether there is something to do again. */
  get canRedo(): boolean {
    return this.#engine.mutations.canRedo
  }

  /**
   * Does the step again that was undone last. Resolves with whether there was one. Rejects with what `mutate` throws where
   * a part of it cannot be done on what is there now, and has done nothing then.
   */
  redo(): Promise<boolean> {
    return this.#engine.mutations.redo()
  }

  /** Calls `listener` for each event, until the function it gives is called. One that throws stops no other. */
  on<Name extends keyof SyncEvents>(name: Name, listener: Listener<SyncEvents[Name]>): Unsubscribe {
    return this.#engine.events.on(name, listener)
  }

  /** The record, the same object until it changes; `undefined` where there is none. */
  get<T extends NameOf<M>>(t: T, id: string): RecordFor<M, T> | undefined {
    return this.#reader(t).get(t, id)
  }

  /** The records of `ids`, in their order; `undefined` for each that is not there. */
  getMany<T extends NameOf<M>>(t: T, ids: readonly string[]): readonly (RecordFor<M, T> | undefined)[] {
    return this.#reader(t).getMany(t, ids)
  }

  /** All records of a type, in no promised order; the same array until one of them changes. */
  all<T extends NameOf<M>>(t: T): readonly RecordFor<M, T>[] {
    return this.#reader(t).all(t)
  }

  /** How many records of a type there are, or how many match. Throws a ConfigurationError where `where` is wrong. */
  count<T extends NameOf<M>>(t: T, where?: Where<RecordFor<M, T>>): number {
    return this.#reader(t).count(t, where)
  }

  /**
   * The record as the server last sent it, without pending changes, and its version, if the server numbers them;
   * `undefined` if the server has no such record.
   */
  confirmed<T extends NameOf<M>>(type: T, id: string): ConfirmedRecord<RecordFor<M, T>> | undefined {
    const { replica } = this.#engine
    this.#engine.use(type)
    const row = replica.confirmed(type, id)
    // The models say what the application may take a record for.
    return row && { record: replica.records.of(row) as RecordFor<M, T>, version: row.v }
  }

  /**
   * A query, whose result is kept up while somebody is subscribed to it. Throws a ConfigurationError that names what
   * is wrong with it.
   *
   * @example
   * const open = client.query('Issue', { where: { status: 'open' }, orderBy: [['createdAt', 'desc']], limit: 50 })
   * const stop = open.subscribe(({ rows }) => render(rows))
   */
  query<T extends NameOf<M>>(t: T, spec: QuerySpec<RecordFor<M, T>> = {}): LiveQuery<RecordFor<M, T>> {
    return this.#reader(t).query(t, spec)
  }

  /** The replica holds what came from outside; the models say what the application may take it for. */
  #reader<T extends NameOf<M>>(t: T): TypedReader<RecordFor<M, T>> {
    this.#engine.use(t)
    return this.#engine.replica as unknown as TypedReader<RecordFor<M, T>>
  }
}

/** The type of a client with models: `M` is what `defineModels` takes or gives. */
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

/** Whose data lies where: it stays the same whatever the token is. */
function databaseName({ bootstrapUrl }: Endpoints, identity: string): string {
  return `instep:${JSON.stringify([bootstrapUrl, identity])}`
}
