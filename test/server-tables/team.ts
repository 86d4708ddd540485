import { silentLogger } from '../../src/base/logger.ts'
import type { SyncFrame } from '../../src/protocol/frame.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import type { TxResponse } from '../../src/protocol/tx.ts'
import type { SqlLog, SqlLogOptions, SyncService } from '../../src/server/index.ts'
import {
  bearerToken,
  createSyncService,
  openSqlLog,
  type SyncServiceOptions,
} from '../../src/server/index.ts'
import { onKeptPGlite } from '../support/kept-pglite.ts'
import type { Postgres } from '../support/postgres.ts'

export const kinds = ['PGlite', 'PostgreSQL'] as const

export type Kind = (typeof kinds)[number]

/** The users, and the teams whose rows each of them sees. */
export const teams: Readonly<Record<string, readonly string[]>> = {
  ann: ['red', 'blue'],
  ben: ['blue'],
  cid: ['green'],
}

export const schema = [
  "create type status as enum ('open', 'closed')",
  `create table issues (
    id text primary key,
    team_id text,
    title text not null check (title <> ''),
    status status not null default 'open',
    size int,
    created_at timestamptz not null default '2026-01-02 03:04:05.678901+00',
    internal text
  )`,
  `create table comments (
    id serial primary key,
    team text not null,
    issue text not null references issues on delete cascade on update cascade deferrable,
    text text not null
  )`,
]

export const tables = {
  Issue: {
    table: 'issues',
    id: 'id',
    owner: 'team_id',
    fields: ['title', 'status', 'size', { createdAt: 'created_at' }],
  },
  Comment: { table: 'comments', id: 'id', owner: 'team', fields: ['text', 'issue'] },
}

export const createdAt = Date.UTC(2026, 0, 2, 3, 4, 5, 678) + 0.901

export interface Team {
  readonly log: SqlLog
  readonly service: SyncService
  /** Runs statements, each in a transaction of its own. */
  run(...statements: readonly string[]): Promise<readonly { readonly [column: string]: unknown }[]>
  /** Runs statements in one transaction. */
  together(...statements: readonly string[]): Promise<void>
  frames(user: string, since?: number): Promise<readonly SyncFrame[]>
  rows(user: string): Promise<readonly WireRow[]>
  position(): Promise<number>
  send(
    user: string,
    ops: readonly object[],
    more?: object,
    request?: object,
  ): Promise<TxResponse['results'][number]>
  close(): Promise<void>
}

/** What `/healthz` says; `undefined` if it does not answer 200, after which a load balancer would send nobody here. */
export async function healthOf(service: Pick<SyncService, 'fetch'>): Promise<string | undefined> {
  const response = await service.fetch(new Request('https://sync.test/healthz'))
  return response.status === 200 ? response.text() : undefined
}

export interface TeamOptions {
  readonly postgres: Pick<Postgres, 'database' | 'run'>
  /** The name of the database; each test has one of its own. */
  readonly name: string
  readonly service?: Partial<SyncServiceOptions>
  readonly log?: SqlLogOptions
  readonly schema?: readonly string[]
  readonly attach?: boolean
}

let names = 0

/** A database with tables of a team, which are attached, and a service for them. */
export async function openTeam(kind: Kind, options: TeamOptions): Promise<Team> {
  const { postgres, service: more, attach = true } = options
  names += 1
  const name = `${options.name}_${names}`
  const address = kind === 'PGlite' ? 'memory:' : await postgres.database(name)
  const log = await onKeptPGlite(() => openSqlLog(address, { tables, logger: silentLogger, ...options.log }))
  const run: Team['run'] = async (...statements) => {
    let last: Awaited<ReturnType<Team['run']>> = []
    for (const statement of statements) {
      last =
        kind === 'PGlite' ? await log.sql((query) => query(statement)) : await postgres.run(name, statement)
    }
    return last
  }
  const together: Team['together'] = async (...statements) => {
    if (kind === 'PostgreSQL')
      return void (await postgres.run(name, `begin; ${statements.join('; ')}; commit`))
    await log.sql(async (query) => {
      for (const statement of statements) await query(statement)
    })
  }
  await run(...(options.schema ?? schema))
  if (attach) await log.attach('teamId')
  const service = createSyncService({
    database: log,
    ownerField: 'teamId',
    authenticate: async (request) => {
      const userId = bearerToken(request) ?? ''
      const owners = teams[userId]
      return owners ? { userId, owners } : null
    },
    ...more,
  })
  const ask = async (user: string, path: string, init: RequestInit = {}) => {
    const headers = { Authorization: `Bearer ${user}`, 'Content-Type': 'application/json' }
    const response = await service.fetch(
      new Request(`http://localhost/sync/v1/${path}`, { ...init, headers }),
    )
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
    return response.json()
  }
  let sent = 0
  return {
    log,
    service,
    run,
    together,
    frames: async (user, since = 0) => (await ask(user, `delta?since=${since}`)).frames,
    rows: async (user) => (await ask(user, 'bootstrap')).rows,
    position: async () => (await log.position()).head,
    async send(user, ops, tx = {}, request = {}) {
      sent += 1
      const txs = [{ id: `tx-${sent}`, since: 0, ops, ...tx }]
      const body = JSON.stringify({ txs, features: ['type_unavailable'], ...request })
      const { results }: TxResponse = await ask(user, 'tx', { method: 'POST', body })
      const [result] = results
      if (!result) throw new Error('There is no result.')
      return result
    },
    close: () => service.close(),
  }
}
