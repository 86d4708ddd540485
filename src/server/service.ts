import { type Check, check, checkOptions } from '../base/check-options.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { Caller } from './auth/caller.ts'
import { socketRequest } from './auth/credentials.ts'
import { type CommittedBy, commitListener } from './change-hook.ts'
import { createApp } from './http/app.ts'
import type { App } from './http/env.ts'
import { Failure } from './http/failure.ts'
import { type IdentifyOptions, type Identity, identify } from './http/identify.ts'
import { checkOps } from './log/check-ops.ts'
import { MemoryLog, type MemoryLogOptions } from './log/memory-log.ts'
import { ownershipJudge } from './log/ownership.ts'
import { resolveOptions, type SyncServiceOptions } from './options.ts'
import { listOwners, queryRecords, type RecordQuery } from './query-records.ts'
import type { CredentialCheck } from './realtime/connection.ts'
import { Hub } from './realtime/hub.ts'
import { type AcceptSocket, closeCodes, type ServerSocket } from './realtime/server-socket.ts'
import { type DataRecord, recordReader } from './record.ts'
import { type RemoveOptions, removeOwner } from './remove-owner.ts'

/** A service that speaks the sync protocol, for any runtime with the Request and Response of the web. */
export interface SyncService {
  /** The path under which the endpoints are, like `/sync/v1`. */
  readonly path: string
  /** The path that reports whether the service accepts requests; `false` if there is none. */
  readonly healthPath: string | false
  /**
   * Resolves once the service can answer. Rejects with a ConfigurationError for a wrong setup. Calling it is optional:
   * requests wait until the service can answer.
   */
  ready(): Promise<void>
  /** Answers one request, also an invalid one. Rejects with a ConfigurationError for a wrong setup. */
  fetch(request: Request): Promise<Response>
  /**
   * Decides whether a request may open a socket. Resolves with the response that refuses the request, or with a
   * function to call with the open socket. A token in the query is used if no header has one.
   */
  upgrade(request: Request): Promise<Response | AcceptSocket>
  /**
   * Takes a socket that the runtime has opened already. If the request is refused, the socket is closed with a code for
   * the reason.
   */
  connect(socket: ServerSocket, request: Request): Promise<void>
  /**
   * Applies all of `ops`, or none of them, to records of any owner. If an op changes the owner field of a record, the
   * record moves to the new owner; a `put` that names no owner leaves it with its owner. `models` apply. Resolves with
   * the `sid` of the last change, or the head if nothing changed. Rejects with a WriteRejectedError.
   */
  write(ops: readonly TxOp[]): Promise<{ readonly sid: number }>
  /** Resolves with the record of any owner, or with `undefined` if there is none. */
  read(type: string, id: string): Promise<DataRecord | undefined>
  /**
   * The records of a type, in the order of their ids by code points. Read in pages: each page shows one moment, and a
   * later page shows later changes. Throws a ConfigurationError for a wrong query.
   *
   * @example
   * for await (const { id, title } of service.query('Issue', { where: { status: 'open' } })) console.log(id, title)
   */
  query(type: string, query?: RecordQuery): AsyncIterable<DataRecord>
  /** The owners that have records, in order by code points. Read in pages, as by {@link query}. */
  owners(): AsyncIterable<string>
  /**
   * Removes everything of an owner, such as a user who leaves: all records, in batches whose removals reach the
   * clients, and then the fields of earlier changes and the results of the user's transactions. Resolves with the
   * number of records. After an error, call it again: it continues. End the user's access before.
   */
  remove(options: RemoveOptions): Promise<{ readonly records: number }>
  /**
   * Closes the sockets of all callers for which `match` returns true. Call it when their access has ended, or when
   * their owners have changed. No change is pushed to them any more; beyond 100 sockets, they are closed within 60 s,
   * so that not all clients fetch a snapshot at once. If `match` throws, the error is logged, and the socket is closed so
   * that its caller is authenticated again.
   */
  revoke(match: (caller: Caller) => boolean): void
  /**
   * Makes `/healthz` answer 503 from now on, so that a load balancer sends requests elsewhere. Everything else goes on.
   * Call it before a stop.
   */
  drain(): void
  /** Closes every socket with code 1012, and the database. Later requests are answered with 503. */
  close(): Promise<void>
}

const isName: Check = [(value) => typeof value === 'string' && value !== '', 'a name']
const removeChecks = { owner: isName, userId: isName }

/**
 * Returns the epoch, which identifies the data that a position refers to. It differs for each history and for each set
 * of owners. `owners` are sorted.
 */
export type EpochOf = (history: string, ownerField: string, owners: readonly string[]) => string

/**
 * Creates the service without anything from Node, so that it also runs in a page.
 *
 * `digest` shortens texts that are only compared, and hides their content: the bodies of transactions, which are
 * stored, and the ids of callers. `retention` applies to the log in memory.
 */
export function createServiceWith(
  epochOf: EpochOf,
  options: SyncServiceOptions & Pick<MemoryLogOptions, 'retention'>,
  digest: (text: string) => string = (text) => text,
): SyncService {
  const resolved = resolveOptions(options)
  const { retention } = options
  const { database, ownerField, models, maxRecordBytes, path, healthPath, clock, random, logger, onCommit } =
    resolved
  const { heartbeatMs, recheckMs, maxBufferedBytes, maxSockets } = resolved
  const log = typeof database === 'string' ? new MemoryLog({ clock, random, retention }) : database
  const judge = ownershipJudge({ ownerField, models, maxRecordBytes })
  const listenerFor = (by?: CommittedBy) => onCommit && commitListener(onCommit, logger, by)
  const shared = {
    log,
    logger,
    digest,
    epochOf: (history: string, owners: readonly string[]) => epochOf(history, ownerField, [...owners].sort()),
    callerOf: ({ userId }: Caller) => digest(JSON.stringify(['caller', userId])),
  }
  let draining = false
  let closed = false
  let app: Promise<App> | undefined
  const start = () => {
    app ??= createApp({
      ...resolved,
      ...shared,
      listenerFor,
      draining: () => draining || closed,
      stopping: () => closed,
      sockets: (userId) => (userId === undefined ? hub.size : hub.sizeOf(userId)),
    }).catch((error: unknown) => {
      // Try again with the next request: a missing package may be installed meanwhile.
      app = undefined
      throw error
    })
    return app
  }
  const hub = new Hub({
    ...shared,
    clock,
    random,
    limits: { heartbeatMs, recheckMs, maxBufferedBytes },
    maxSockets,
  })

  const service: SyncService = {
    path,
    healthPath,
    async ready() {
      await Promise.all([start(), log.position()])
    },
    async fetch(request) {
      return (await start()).fetch(request)
    },
    async upgrade(request) {
      let accept: AcceptSocket | undefined
      const at = clock.now()
      const upgradeRequest = socketRequest(request)
      const response = await (await start()).fetch(upgradeRequest, {
        admit: (identity) => {
          const again = () => checkAgain(upgradeRequest, identity, resolved)
          accept = (socket) => void hub.add(socket, identity, { at, again })
        },
      })
      return accept ?? response
    },
    async connect(socket, request) {
      let gone = false
      socket.addEventListener('close', () => {
        gone = true
      })
      const result = await service.upgrade(request).catch((error: unknown) => {
        socket.close(...closeOf(500))
        throw error
      })
      if (gone) return
      if (typeof result === 'function') result(socket)
      else socket.close(...closeOf(result.status))
    },
    async write(ops) {
      return { sid: await log.write(checkOps(ops), judge, listenerFor()) }
    },
    read: recordReader((t, id) => log.read(t, id)),
    query: (type, query) => queryRecords(log, type, query),
    owners: () => listOwners(log),
    async remove(options) {
      checkOptions(options, removeChecks)
      check('owner', options.owner, removeChecks.owner)
      const { owner, userId = ownerField === 'userId' ? owner : undefined } = options
      return { records: await removeOwner(log, { owner, userId }, listenerFor()) }
    },
    revoke: (match) => hub.revoke(match),
    drain() {
      draining = true
    },
    async close() {
      closed = true
      hub.close()
      await log.close()
    },
  }
  return service
}

/** Whether the credentials of `request` still belong to the same user with the same owners, in any order. */
async function checkAgain(
  request: Request,
  before: Identity,
  options: IdentifyOptions,
): Promise<CredentialCheck> {
  try {
    const { caller, owners } = await identify(request, options)
    const isSame = caller.userId === before.caller.userId && hasSame(owners, before.owners)
    return isSame ? 'same' : 'other'
  } catch (error) {
    // If the credentials cannot be checked now, the user stays signed in.
    return error instanceof Failure && error.status < 500 ? 'gone' : 'same'
  }
}

/** Whether two lists without duplicates have the same items, in any order. */
function hasSame(owners: readonly string[], others: readonly string[]): boolean {
  const set = new Set(others)
  return owners.length === set.size && owners.every((owner) => set.has(owner))
}

/** The close code of a socket for the HTTP status that a request gets (RFC 6455, section 7.4.1, and its registry). */
function closeOf(status: number): [code: number, reason: string] {
  if (status === 401) return [closeCodes.unauthenticated, 'unauthenticated']
  if (status === 429) return [closeCodes.tooSlow, 'too_many_requests']
  return status >= 500 ? [closeCodes.restart, 'unavailable'] : [closeCodes.policy, 'refused']
}
