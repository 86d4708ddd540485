import type { TxOp } from '../protocol/tx.ts'
import type { Caller } from './auth/caller.ts'
import { socketRequest } from './auth/credentials.ts'
import { type CommittedBy, tellOf } from './change-hook.ts'
import { createApp } from './http/app.ts'
import type { App } from './http/env.ts'
import { Failure } from './http/failure.ts'
import { type IdentifyOptions, type Identity, identify } from './http/identify.ts'
import { checkOps } from './log/check-ops.ts'
import { MemoryLog, type MemoryLogOptions } from './log/memory-log.ts'
import { ownershipJudge } from './log/ownership.ts'
import { resolveOptions, type SyncServiceOptions } from './options.ts'
import type { Standing } from './realtime/connection.ts'
import { Hub } from './realtime/hub.ts'
import { type AcceptSocket, closeCodes, type ServerSocket } from './realtime/server-socket.ts'

/** The service of the protocol, for any runtime that has the web's Request and Response. */
export interface SyncService {
  /** Where its endpoints are, as in `/sync/v1`. */
  readonly path: string
  /** Resolves once it can answer; requests wait for it by themselves. Rejects with a ConfigurationError. */
  ready(): Promise<void>
  /** Answers one request. */
  fetch(request: Request): Promise<Response>
  /**
   * Decides about a socket before it is open: gives the answer that refuses it, or what to call with the open socket.
   * A token in the query counts where no header has one.
   */
  upgrade(request: Request): Promise<Response | AcceptSocket>
  /** For runtimes that open a socket before anything is asked: one that is refused is closed, with a code that says why. */
  connect(socket: ServerSocket, request: Request): Promise<void>
  /**
   * Writes as the service itself: all of `ops` or nothing, and with no limit to whose records they are. A record
   * whose owner field changes moves to the new owner; `models` hold here too. Resolves with the `sid` of the last
   * change; rejects with a WriteRejectedError.
   */
  write(ops: readonly TxOp[]): Promise<{ readonly sid: number }>
  /** Closes the sockets of the callers that `match` names, whose right to be there has ended. */
  revoke(match: (caller: Caller) => boolean): void
  /** From now on `/healthz` sends requests elsewhere, as before a stop; all else goes on. */
  drain(): void
  /** Closes every socket with 1012 and the database; requests that come later are answered with 503. */
  close(): Promise<void>
}

/** Names what a position counts in: another name for another history, and for another owner. */
export type EpochOf = (history: string, ownerField: string, owner: string) => string

/**
 * The service without anything of Node's, so that it runs in a page too. `digest` shortens what is only ever compared: the
 * bodies of transactions, which are kept, and the names of callers, of which it hides who they are; `retention` is that of the log in memory.
 */
export function createServiceWith(
  epochOf: EpochOf,
  options: SyncServiceOptions & Pick<MemoryLogOptions, 'retention'>,
  digest: (text: string) => string = (text) => text,
): SyncService {
  const resolved = resolveOptions(options)
  const { retention } = options
  const { database, ownerField, models, maxRecordBytes, path, clock, random, logger, onCommit } = resolved
  const { heartbeatMs, recheckMs, maxBufferedBytes } = resolved
  const log = typeof database === 'string' ? new MemoryLog({ clock, random, retention }) : database
  const judge = ownershipJudge({ ownerField, models, maxRecordBytes })
  const told = (by?: CommittedBy) => onCommit && tellOf(onCommit, logger, by)
  const shared = {
    log,
    logger,
    digest,
    epochOf: (history: string, owner: string) => epochOf(history, ownerField, owner),
    callerOf: ({ userId }: Caller) => digest(JSON.stringify(['caller', userId])),
  }
  let draining = false
  let closed = false
  let app: Promise<App> | undefined
  const start = () => {
    app ??= createApp({
      ...resolved,
      ...shared,
      told,
      draining: () => draining || closed,
      stopping: () => closed,
      sockets: () => hub.size,
    }).catch((error: unknown) => {
      // What it lacks now may be there the next time.
      app = undefined
      throw error
    })
    return app
  }
  const hub = new Hub({ ...shared, clock, limits: { heartbeatMs, recheckMs, maxBufferedBytes } })

  const service: SyncService = {
    path,
    async ready() {
      await Promise.all([start(), log.position()])
    },
    async fetch(request) {
      return (await start()).fetch(request)
    },
    async upgrade(request) {
      let accept: AcceptSocket | undefined
      const at = clock.now()
      const asking = socketRequest(request)
      const response = await (await start()).fetch(asking, {
        admit: (identity) => {
          const again = () => standingOf(asking, identity, resolved)
          accept = (socket) => void hub.add(socket, identity.caller, identity.owner, { at, again })
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
      return { sid: await log.write(checkOps(ops), judge, told()) }
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

/** Whether the credentials of `request` still name whom they named. */
async function standingOf(request: Request, before: Identity, options: IdentifyOptions): Promise<Standing> {
  try {
    const { caller, owner } = await identify(request, options)
    return caller.userId === before.caller.userId && owner === before.owner ? 'same' : 'other'
  } catch (error) {
    // Where it cannot be told now, nobody is signed out.
    return error instanceof Failure && error.status < 500 ? 'gone' : 'same'
  }
}

/** The code that says to a socket what `status` says to a request (RFC 6455, section 7.4.1, and its registry). */
function closeOf(status: number): [code: number, reason: string] {
  if (status === 401) return [closeCodes.unauthenticated, 'unauthenticated']
  if (status === 429) return [closeCodes.tooSlow, 'too_many_requests']
  return status >= 500 ? [closeCodes.restart, 'unavailable'] : [closeCodes.policy, 'refused']
}
