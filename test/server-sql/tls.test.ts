import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { instep, secret } from '../cli/command-line.ts'
import { certificate } from '../support/certificate.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'

let postgres: Postgres
let port: number
const folder = mkdtempSync(join(tmpdir(), 'instep-tls-'))
const authority = join(folder, 'ca.pem')

beforeAll(async () => {
  port = await freePort()
  postgres = await startPostgres(['listen_addresses=127.0.0.1'], port)
  const { key, cert } = certificate()
  writeFileSync(authority, cert)
  // The server writes its files itself, so that they are its own, as it asks of a key.
  const [{ data_directory: data } = {}] = await postgres.run('postgres', 'show data_directory')
  const file = (name: string, text: string | Buffer) => {
    const lines = `select unnest(string_to_array('${String(text).trim()}', E'\\n'))`
    return postgres.run('postgres', `copy (${lines}) to program 'umask 077 && cat > "${data}/${name}"'`)
  }
  await file('server.key', key)
  await file('server.crt', cert)
  await file('pg_hba.conf', 'local all all trust\nhostssl all all all trust')
  await postgres.run('postgres', 'alter system set ssl = on')
  await postgres.crash()
})

afterAll(async () => {
  await postgres.stop()
  rmSync(folder, { recursive: true })
})

const address = (rest: string) => `postgres://postgres@localhost:${port}/postgres${rest}`

test('over TLS, all connections to a PostgreSQL are encrypted', async () => {
  const log = await openSqlLog(address(`?sslmode=verify-full&sslrootcert=${authority}`))
  const connections = await postgres.run(
    'postgres',
    'select ssl from pg_stat_ssl join pg_stat_activity using (pid) where client_addr is not null',
  )
  await log.close()
  expect(connections.length).toBeGreaterThan(1)
  expect(new Set(connections.map(({ ssl }) => ssl))).toEqual(new Set([true]))
})

test.each([
  [
    'it is asked for without TLS',
    '',
    'this user may not connect, or only over TLS; for TLS, add .+verify-full` to the address',
  ],
  [
    'its CA is not known',
    '?sslmode=verify-full',
    'its certificate is from an unknown CA; set `sslrootcert` .+',
  ],
])('a PostgreSQL that requires TLS says what to do if %s', async (_, rest, reason) => {
  const args = ['serve', '--port', '0', '--database', address(rest)]
  const { code, stderr } = await instep(args, { INSTEP_JWT_SECRET: secret })
  expect(code).toBe(1)
  expect(stderr).toMatch(
    new RegExp(`^The PostgreSQL database at localhost:${port}/postgres cannot be used: ${reason}\\.\n$`),
  )
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: free } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return free
}
