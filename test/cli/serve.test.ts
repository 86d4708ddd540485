import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { memoryStore, SyncClient, silentLogger } from '../../src/index.ts'
import { shown } from '../support/device.ts'
import { called, instep, type Serving, secret, servingHere, startServing } from './command-line.ts'

const env = { INSTEP_JWT_SECRET: secret }
const running: Serving[] = []
const here: Awaited<ReturnType<typeof servingHere>>[] = []
const clients: SyncClient[] = []
const folders: string[] = []

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  for (const serving of running.splice(0)) await serving.end('SIGKILL')
  for (const serving of here.splice(0)) await serving.end()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const serve = async (args: readonly string[], variables = {}) => {
  const serving = await startServing(args, variables)
  running.push(serving)
  return serving
}
const serveHere = async (args: readonly string[], variables = {}) => {
  const serving = await servingHere(args, variables)
  here.push(serving)
  return serving
}
const tokenOf = async (...args: readonly string[]) => (await called(['token', ...args], env)).stdout.trim()
const clientOf = async (baseUrl: string, token: string, identity: string) => {
  const options = { baseUrl, token, identity, store: memoryStore(), logger: silentLogger, pollInterval: 500 }
  const client = new SyncClient(options)
  clients.push(client)
  await client.start()
  return client
}
const temporary = () => {
  const folder = mkdtempSync(join(tmpdir(), 'instep-serve-'))
  folders.push(folder)
  return folder
}

test('two devices of a user stay in sync, over HTTP and WebSocket, and another user sees nothing', async () => {
  const { url } = await serve(['--database', 'memory:', '--owner-field', 'userId'])
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/sync\/v1$/)
  const token = await tokenOf('--user', 'u1')
  const one = await clientOf(url, token, 'u1')
  const other = await clientOf(url, token, 'u1')
  const stranger = await clientOf(url, await tokenOf('--user', 'u2'), 'u2')
  await expect.poll(() => other.status.connection.state).toBe('socket')
  const { accepted } = one.mutate((m) => {
    m.insert('Issue', { id: 'i1', title: 'Cable cut' })
  })
  await accepted
  await expect.poll(() => shown(other)).toEqual({ i1: { title: 'Cable cut' } })
  await stranger.sync()
  expect(shown(stranger)).toEqual({})
})

test('with organizations, members share records, and a user without one is refused', async () => {
  const { url } = await serveHere(['--database', 'memory:', '--owner-field', 'organizationId'])
  const ask = (token: string) =>
    fetch(`${url}/bootstrap`, { headers: { authorization: `Bearer ${token}` } }).then(({ status }) => status)
  expect(await ask(await tokenOf('--user', 'u1', '--organization', 'o1'))).toBe(200)
  expect(await ask(await tokenOf('--user', 'u1'))).toBe(403)
  expect(await ask('nonsense')).toBe(401)
})

test('a misspelt variable is reported at the start', async () => {
  const { told } = await serveHere(['--database', 'memory:'], {
    INSTEP_OWNERFIELD: 'organizationId',
    INSTEP_METRIC_TOKEN: 'of the monitoring',
    INSTEP_ORIGINS: 'https://app.test',
    ...{ INSTEP_METRICS_TOKEN: 'x', INSTEP_JWT_SECRET_PREVIOUS: secret, INSTEP_USER: 'ada' },
    ...{ INSTEP_SERVICE_HOST: '10.0.0.1', INSTEP_SERVICE_PORT_HTTP: '80', INSTEP_PORT: 'tcp://10.0.0.1:80' },
    ...{
      INSTEP_API_PORT: 'tcp://10.0.0.2:80',
      INSTEP_PORT_80_TCP_PROTO: 'tcp',
      INSTEP_PORT_80_TCP: 'tcp://',
    },
  })
  expect(told()).toBe(
    [
      'warn  INSTEP_OWNERFIELD is set, but is not an option; perhaps INSTEP_OWNER_FIELD is meant.\n',
      'warn  INSTEP_METRIC_TOKEN is set, but is not an option; perhaps INSTEP_METRICS_TOKEN is meant.\n',
      'warn  INSTEP_ORIGINS is set, but is not an option; `instep serve --help` lists all options.\n',
    ].join(''),
  )
})

test.each(['SIGTERM', 'SIGINT'] as const)(
  '`serve` exits with 0 at %s, and closes its sockets with 1012',
  async (signal) => {
    const serving = await serve(['--database', 'memory:'])
    const token = await tokenOf('--user', 'u1')
    const socket = new WebSocket(`${serving.url.replace('http', 'ws')}/ws?token=${token}`)
    await once(socket, 'message')
    const closed = once(socket, 'close')
    expect(await serving.end(signal)).toBe(0)
    expect((await closed)[0]).toBe(1012)
    expect(serving.told()).toBe('')
  },
)

test('from the first signal to the last response, /healthz answers 503; a second signal ends the process at once', async () => {
  const serving = await serve(['--database', 'memory:', '--drain', '1h'])
  const health = () => fetch(new URL('/healthz', serving.url)).then(({ status }) => status)
  expect(await health()).toBe(200)
  serving.signal('SIGTERM')
  await expect.poll(health).toBe(503)
  const token = await tokenOf('--user', 'u1')
  const headers = { authorization: `Bearer ${token}` }
  expect((await fetch(`${serving.url}/bootstrap`, { headers })).status).toBe(200)
  expect(await serving.end('SIGTERM')).toBe(1)
})

test('accepted writes in a folder survive kill -9, and a transaction older than the kept verdicts is expired', async () => {
  const folder = temporary()
  const first = await serve(['--database', folder, '--keep-verdicts', '30d'])
  const token = await tokenOf('--user', 'u1')
  const old = {
    id: '019ac1f0-5d4c-7b1e-9c55-2f0d2f6f8a10',
    since: 0,
    ops: [{ op: 'd', t: 'Issue', id: 'i' }],
  }
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${first.url}/tx`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ txs: [old] }),
  })
  expect((await answer.json()).results).toMatchObject([{ error: { code: 'expired' } }])
  const client = await clientOf(first.url, token, 'u1')
  for (const id of ['i1', 'i2', 'i3']) {
    await client.mutate((m) => {
      m.insert('Issue', { id })
    }).accepted
  }
  const locked = await instep(['serve', '--port', '0', '--database', folder], env)
  expect(locked).toMatchObject({ code: 1, stdout: '' })
  expect(locked.stderr).toMatch(/^The folder .* is in use by another process; .*\.\n$/)
  await first.end('SIGKILL')
  const second = await serve(['--database', folder])
  const again = await clientOf(second.url, token, 'u1')
  await expect.poll(() => Object.keys(shown(again)).sort()).toEqual(['i1', 'i2', 'i3'])
  expect(await second.end()).toBe(0)
}, 90_000)

test('during the rotation of a secret, tokens of both are accepted, and no others', async () => {
  const [next, other] = [
    'the next secret, which is long enough as well',
    'another secret that is long enough too',
  ]
  const { url } = await serveHere(['--database', 'memory:'], {
    INSTEP_JWT_SECRET: next,
    INSTEP_JWT_SECRET_PREVIOUS: secret,
  })
  const statuses: number[] = []
  for (const signing of [next, secret, other]) {
    const { stdout } = await called(['token', '--user', 'u1'], { INSTEP_JWT_SECRET: signing })
    const headers = { authorization: `Bearer ${stdout.trim()}` }
    statuses.push((await fetch(`${url}/bootstrap`, { headers })).status)
  }
  expect(statuses).toEqual([200, 200, 401])
})

test('with a secret, too, the options set the audience and the issuer of tokens', async () => {
  const headers = { authorization: `Bearer ${await tokenOf('--user', 'u1')}` }
  for (const option of ['--audience', '--issuer']) {
    const { url } = await serveHere(['--database', 'memory:', option, 'another'])
    expect((await fetch(`${url}/bootstrap`, { headers })).status).toBe(401)
  }
})

test('a request that is running at the signal is answered, and an option sets the maximum length of records', async () => {
  const serving = await serve(['--database', 'memory:', '--max-record-bytes', '40', '--grace', '1h'])
  const headers = {
    authorization: `Bearer ${await tokenOf('--user', 'u1')}`,
    'content-type': 'application/json',
  }
  const sending = request(`${serving.url}/tx`, { method: 'POST', headers })
  const answered = once(sending, 'response')
  const txs = ['short', 'long'.repeat(20)].map((title) => ({
    id: title.slice(0, 5),
    since: 0,
    ops: [{ op: 'i', t: 'Issue', id: title.slice(0, 5), p: { title } }],
  }))
  const body = JSON.stringify({ txs })
  sending.write(body.slice(0, 9))
  const socket = new WebSocket(`${serving.url.replace('http', 'ws')}/ws`, { headers })
  await once(socket, 'message')
  const ended = serving.end()
  await once(socket, 'close')
  sending.end(body.slice(9))
  const [response] = await answered
  expect(await json(response)).toMatchObject({
    results: [
      { id: 'short', sid: 1 },
      { id: 'longl', error: { code: 'too_large' } },
    ],
  })
  expect(await ended).toBe(0)
})

test('the command has the options of the service', async () => {
  const { url } = await serveHere(['--database', 'memory:', '--metrics', '--rate-limit', '2/1m'], {
    INSTEP_METRICS_TOKEN: 'of-the-monitoring',
    INSTEP_ALLOWED_ORIGINS: 'https://one.test, https://two.test',
  })
  const headers = { authorization: `Bearer ${await tokenOf('--user', 'u1')}`, origin: 'https://two.test' }
  const statuses: number[] = []
  for (let n = 0; n < 3; n += 1) {
    const answer = await fetch(`${url}/bootstrap`, { headers })
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://two.test')
    statuses.push(answer.status)
  }
  expect(statuses).toEqual([200, 200, 429])
  expect((await fetch(new URL('/metrics', url))).status).toBe(401)
  const metrics = await fetch(new URL('/metrics', url), {
    headers: { authorization: 'Bearer of-the-monitoring' },
  })
  expect(await metrics.text()).toContain('instep_http_requests_total{endpoint="bootstrap",status="429"} 1')
})

describe('a command that fails exits with 1 and one sentence, without a stack', () => {
  test('if the port is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const ended = await called(['serve', '--database', 'memory:', '--port', String(port)], env)
    server.close()
    expect(ended).toEqual({
      code: 1,
      stdout: '',
      stderr: `The port ${port} of 127.0.0.1 is in use; choose another with \`--port\`, or 0 for any free port.\n`,
    })
  })

  test.each([
    [
      'nothing answers',
      'postgres://u:hush@127.0.0.1:1/app',
      /^The PostgreSQL database at 127\.0\.0\.1:1\/app .*nothing/,
    ],
    [
      'its certificate is missing',
      'postgres://u:hush@127.0.0.1:1/app?sslmode=verify-full&sslrootcert=/nowhere.pem',
      /^The PostgreSQL database at 127\.0\.0\.1:1\/app cannot be used: ENOENT: .+ '\/nowhere\.pem'\.\n$/,
    ],
    [
      'its password has a slash',
      'postgres://u:12/hush@127.0.0.1:1/app',
      /^The address of the PostgreSQL server cannot be read; .+ \/ as `%2F` and /,
    ],
    [
      'is no folder',
      '/dev/null',
      /^The database in the folder \/dev\/null cannot be used: it is a file, not a folder\.\n$/,
    ],
    [
      'is below a folder that can hold none',
      '/proc/none/data',
      /^The database in the folder \/proc\/none\/data cannot be used: .+\.\n$/,
    ],
  ])('if the database is unusable: %s', async (_, database, sentence) => {
    const { code, stdout, stderr } = await called(['serve', '--port', '0', '--database', database], env)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(sentence)
    expect(stderr).toMatch(/^[^\n]+\.\n$/)
    expect(stderr).not.toContain('hush')
    const named = await called(['serve', '--port', '0'], { ...env, INSTEP_DATABASE: database })
    expect(named.stderr).toBe(stderr)
  })
})

test('the log is text or JSON, filtered by level, without tokens', async () => {
  const token = await tokenOf('--user', 'u1')
  const tell = async (...args: readonly string[]) => {
    const serving = await serveHere(['--database', 'memory:', ...args])
    await fetch(`${serving.url}/bootstrap`, { headers: { authorization: `Bearer ${token}x` } })
    await serving.end()
    return serving.told()
  }
  const text = await tell()
  expect(text).toMatch(
    /^warn {2}Authentication failed\. requestId=\S+ path=\/sync\/v1\/bootstrap code=invalid_token\n$/,
  )
  const lines = (await tell('--log-format', 'json', '--log-level', 'info')).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 40, msg: 'Authentication failed.', code: 'invalid_token' },
    { level: 30, msg: 'A request was answered.', status: 401, path: '/sync/v1/bootstrap' },
  ])
  expect(await tell('--log-level', 'silent')).toBe('')
  expect(text + lines.join()).not.toContain(token)
})
