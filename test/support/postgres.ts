import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { findPostgres } from '../setup/find-postgres.mjs'

/** A PostgreSQL of a test's own, in a temporary folder, heard on a socket in it. */
export interface Postgres {
  /** The address of a database, which is made where there is none. */
  database(name: string): Promise<string>
  /** Runs statements in a database. */
  run(name: string, sql: string): Promise<readonly { readonly [column: string]: unknown }[]>
  /** Ends it and starts it again: at once, as a crash does, so that connections break. */
  crash(): Promise<void>
  /** Drops all databases and roles once every connection has ended. Throws where one stays. */
  empty(): Promise<void>
  /** Ends it once every connection has ended: the end of a `pg` pool does not wait for its own. Throws where one stays. */
  stop(): Promise<void>
}

interface User {
  readonly uid: number
  readonly gid: number
}

/** What makes it quick, and gives up only what a loss of power would need. */
export const quick = ['fsync=off', 'full_page_writes=off', 'autovacuum=off']

/** The maximum time that a connection may take to end, in ms. */
const maxEndMs = 8_000

const leftOpen = 'A connection to PostgreSQL was left open.'

/** Selects the connections of all other clients. */
const connections =
  "select from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"

const databases = `select format('drop database %I with (force)', datname) as drop from pg_database
  where datname <> 'postgres' and not datistemplate`

const roles = `select format('drop role %I', rolname) as drop from pg_roles
  where rolname <> 'postgres' and rolname not like 'pg\\_%'`

/** Starts one with `settings`, which are a test's unless they are given. The port is part of its socket's name, too. */
export async function startPostgres(
  settings: readonly string[] = quick,
  port: number = 5432,
): Promise<Postgres> {
  const bin = findPostgres()
  if (bin === undefined) throw new Error('There is no PostgreSQL; run `npm run setup`.')
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'instep-postgres-'))
  const user = unprivileged()
  if (user) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const initdb = ['-D', data, '-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  execFileSync(join(bin, 'initdb'), initdb, { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })

  const args = ['-D', data, '-k', folder, '-p', String(port)]
  for (const setting of ['listen_addresses=', 'max_connections=100', ...settings]) args.push('-c', setting)
  const start = () => listening(join(bin, 'postgres'), args, folder, user)
  let server = await start()
  // vitest kills its workers, so `exit` is not emitted. The shell reads the end of its input then, and ends the server.
  const end = `read -r _; kill -QUIT $(head -n 1 ${data}/postmaster.pid); rm -rf ${folder}`
  const watchdog = spawn('sh', ['-c', end], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })

  const addressOf = (name: string) => `postgres://postgres@localhost:${port}/${name}?host=${folder}`
  const run: Postgres['run'] = async (name, sql) => {
    const client = new Client({ connectionString: addressOf(name) })
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
  return {
    run,
    async database(name) {
      const known = await run('postgres', `select from pg_database where datname = '${name}'`)
      if (known.length === 0) await run('postgres', `create database "${name}"`)
      return addressOf(name)
    },
    async crash() {
      await ended(server, 'SIGQUIT')
      server = await start()
    },
    async empty() {
      const client = new Client({ connectionString: addressOf('postgres') })
      await client.connect()
      try {
        const giveUpAt = performance.now() + maxEndMs
        const isLeft = async () => (await client.query(connections)).rowCount !== 0
        while ((await isLeft()) && performance.now() < giveUpAt) await delay(20)
        const waits = await isLeft()
        for (const { drop } of (await client.query(databases)).rows) await client.query(drop)
        for (const { drop } of (await client.query(roles)).rows) await client.query(drop)
        if (waits) throw new Error(leftOpen)
      } finally {
        await client.end()
      }
    },
    async stop() {
      let waits = false
      const alarm = setTimeout(() => {
        waits = true
        server.kill('SIGINT')
      }, maxEndMs)
      await ended(server, 'SIGTERM')
      clearTimeout(alarm)
      watchdog.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
      if (waits) throw new Error(leftOpen)
    },
  }
}

/** Who runs it: PostgreSQL refuses to be root. */
function unprivileged(): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  const idOf = (option: string) => {
    for (const name of ['postgres', 'nobody']) {
      try {
        return Number(
          execFileSync('id', [option, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
        )
      } catch {
        // There is no such user.
      }
    }
    throw new Error('PostgreSQL does not run as root, and there is neither a user `postgres` nor `nobody`.')
  }
  return { uid: idOf('-u'), gid: idOf('-g') }
}

/** Resolves once the server takes connections. */
function listening(
  program: string,
  args: readonly string[],
  folder: string,
  user: User | undefined,
): Promise<ChildProcess> {
  const server = spawn(program, args, { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  return new Promise((resolve, reject) => {
    let said = ''
    server.stderr.on('data', (chunk) => {
      said += chunk
      if (said.includes('ready to accept connections')) resolve(server)
    })
    server.on('error', reject)
    server.on('exit', () => reject(new Error(`PostgreSQL did not start: ${said}`)))
  })
}

function ended(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    server.once('exit', () => resolve())
    server.kill(signal)
  })
}

/** What one of PostgreSQL's programs, which lie beside its `initdb`, prints when it is given `input`. */
export function runPostgres(program: string, args: readonly string[], input = ''): string {
  const folder = dirname(realpathSync(join(findPostgres() ?? '', 'initdb')))
  return execFileSync(join(folder, program), args, { encoding: 'utf8', input })
}
