import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { called, exitOf, instep, secret, start } from './command-line.ts'

const env = { INSTEP_JWT_SECRET: secret }
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'instep-cli-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const write = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

test('`--version` prints only the version', async () => {
  expect(await called(['--version'])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' })
})

test('`--help` lists the commands', async () => {
  const { code, stdout } = await called(['--help'])
  expect(code).toBe(0)
  for (const command of [
    'serve',
    'token',
    'import',
    'status',
    'get',
    'list',
    'delete',
    'epoch',
    'attach',
    'detach',
    'check',
    'demo',
  ])
    expect(stdout).toContain(command)
})

test('a process prints and exits as `main` does', async () => {
  for (const args of [['--version'], ['serve', '--prot', '1']]) {
    expect(await instep(args, env)).toEqual(await called(args, env))
  }
})

test.each([
  ['serve', ['--database', '--port', '--owner-field', '--jwks', 'INSTEP_JWT_SECRET', '--config']],
  ['token', ['--user', '--organization', '--owner', '--expires']],
  ['import', ['<file>', '--type', '--format', '--replace']],
  ['status', ['--database', '--json']],
  ['get', ['<type>', '<id>', '--database']],
  ['list', ['<type>', '--owner', '--where', '--limit', '--after']],
  ['delete', ['<type>', '<id>', '--owner', '--all', '--user']],
  ['epoch', ['--new']],
  ['attach', ['--config', 'creates triggers']],
  ['detach', ['--config']],
  ['check', ['--config', '--repair']],
  ['demo', ['--port', 'new secret at each start']],
])('`%s --help` prints the options, and does nothing', async (command, names) => {
  const { code, stdout, stderr } = await called([command, '--database', 'nowhere', '--help'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  for (const name of names) expect(stdout).toContain(name)
})

describe('a wrong command line exits with 2 and one sentence on stderr', () => {
  test.each<[string, string[], NodeJS.ProcessEnv, RegExp]>([
    ['no command', [], {}, /A command is missing/],
    ['an unknown command', ['sevre'], {}, /no command `sevre`/],
    ['an unknown option', ['serve', '--prot', '1'], env, /no option `--prot`/],
    ['an option without its value', ['serve', '--database'], env, /`--database` needs a value/],
    ['an unexpected argument', ['token', 'u1'], env, /argument `u1` is not expected/],
    ['a secret that is not set', ['serve', '--database', 'memory:'], {}, /INSTEP_JWT_SECRET is not set/],
    [
      'a secret that is too short',
      ['token', '--user', 'u1'],
      { INSTEP_JWT_SECRET: 'short' },
      /too short; it needs 32/,
    ],
    [
      'two ways to check a token',
      ['serve', '--database', 'memory:', '--jwks', 'https://login.test/jwks', '--audience', 'any'],
      env,
      /either `--jwks` or INSTEP_JWT_SECRET/,
    ],
    [
      'a key set without an audience',
      ['serve', '--database', 'memory:', '--jwks', 'https://login.test/jwks'],
      {},
      /`--audience` is missing/,
    ],
    [
      'a key set without an address',
      ['serve', '--database', 'memory:', '--jwks', 'login', '--audience', 'any'],
      {},
      /`jwks` must be the full URL/,
    ],
    [
      'a shared secret as a public key',
      ['serve', '--database', 'memory:', '--algorithms', 'HS256'],
      { INSTEP_JWKS: 'https://login.test/jwks', INSTEP_AUDIENCE: 'any' },
      /`algorithms` must list at least one of/,
    ],
    [
      'algorithms without a key set',
      ['serve', '--database', 'memory:', '--algorithms', 'RS256'],
      env,
      /needs `--jwks`, which is missing/,
    ],
    ['no database', ['serve'], env, /`--database` is missing/],
    ['an invalid database', ['serve', '--database', 'mysql://x'], env, /`--database` must be/],
    [
      'an origin that no browser sends',
      ['serve', '--database', 'memory:', '--allowed-origins', 'https://app.test/'],
      env,
      /`--allowed-origins` must be/,
    ],
    [
      'a list of nothing',
      ['serve', '--database', 'memory:', '--allowed-origins', ' ,'],
      env,
      /`--allowed-origins` must be one or more items, separated by commas, not ` ,`/,
    ],
    ['an option twice', ['token', '--user', 'a', '--user=b'], env, /`--user` is set more than once/],
    ['an invalid value of a flag', ['epoch', '--new=no', '--database', 'x'], {}, /`--new` must be/],
    [
      'a flag that only the environment sets',
      ['epoch', '--database', 'x'],
      { INSTEP_NEW: 'true' },
      /`--new` is missing/,
    ],
    [
      'an invalid port',
      ['serve', '--database', 'memory:', '--port', 'high'],
      env,
      /`--port` must be a whole number from 0 to 65535, not `high`/,
    ],
    [
      'an invalid owner field',
      ['serve', '--database', 'memory:', '--owner-field', '__proto__'],
      env,
      /`--owner-field` must be the name of a field/,
    ],
    [
      'an invalid rate',
      ['serve', '--database', 'memory:', '--rate-limit', '100'],
      env,
      /`--rate-limit` must be/,
    ],
    [
      'an empty variable, which would lift a restriction',
      ['serve', '--database', 'memory:'],
      { ...env, INSTEP_ISSUER: '' },
      /^`INSTEP_ISSUER` is empty; set a value, or unset it\.$/m,
    ],
    [
      'an age of changes of 0',
      ['serve', '--database', 'memory:', '--keep-changes', 'long'],
      env,
      /`--keep-changes` must be a time/,
    ],
    [
      'an age of verdicts below an hour',
      ['serve', '--database', 'memory:', '--keep-verdicts', '59m'],
      env,
      /`--keep-verdicts` must be 1h or more/,
    ],
    ['a token without a user', ['token'], env, /`--user` is missing/],
    ['an invalid time', ['token', '--user', 'u1', '--expires', 'soon'], env, /like `90s`, .*not `soon`/],
    ['an epoch without `--new`', ['epoch', '--database', 'x'], {}, /`--new` is missing/],
    [
      'an import without a file',
      ['import', '--database', 'x', '--type', 'T'],
      {},
      /The argument <file> is missing/,
    ],
    ['an import into memory', ['import', 'x.csv', '--database', 'memory:'], {}, /lost when the process ends/],
    [
      'a status of no database',
      ['status'],
      {},
      /`--database` is missing; it must be a folder, or an address/,
    ],
    [
      'an import for an invalid owner',
      ['import', 'x.csv', '--database', 'x', '--type', 'T', '--owner', '__proto__'],
      {},
      /`--owner` is longer than 255 characters or cannot be stored; choose another/,
    ],
    [
      'an import of an unknown format',
      ['import', 'x', '--database', 'x', '--type', 'T'],
      {},
      /does not show the format of the file; set `--format` to json, ndjson, csv\./,
    ],
  ])('%s', async (_, args, variables, sentence) => {
    const { code, stdout, stderr } = await called(args, variables)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(sentence)
    expect(stderr).toMatch(/^[^\n]+\.\n$/)
  })

  test.each([
    ['does not exist', undefined, /cannot be read/],
    ['is not JSON', '{', /it is not JSON/],
    ['sets an unknown option', '{"jwtSecret":"x"}', /`jwtSecret` in .* is not an option/],
    ['sets `new` of `epoch`', '{"new":true}', /`new` in .* is not an option that a file can set/],
    ['sets another kind', '{"port":{}}', /`port` in .* must be/],
    ['sets an empty text', '{"host":""}', /`host` in .* not empty/],
    ['sets a nested list', '{"allowedOrigins":[["https://a.b"]]}', /`allowedOrigins` in .* must be/],
    ['sets an invalid value', '{"port":"high","database":"memory:"}', /`port` in .*, not `high`/],
    ['starts with a byte order mark', '\uFEFF{"port":"high","database":"memory:"}', /, not `high`/],
  ])('a config file that %s', async (_, text, sentence) => {
    const path = text === undefined ? join(folder, 'missing.json') : write('wrong.json', text)
    const { code, stderr } = await called(['serve', '--config', path], env)
    expect(code).toBe(2)
    expect(stderr).toMatch(sentence)
  })
})

test('the command line overrides the environment, which overrides the config file', async () => {
  const config = write('instep.json', '{"user":"file","organization":"file","expires":"1d"}')
  const { stdout } = await called(['token', '--user', 'line'], {
    ...env,
    INSTEP_USER: 'environment',
    INSTEP_ORGANIZATION: 'environment',
    INSTEP_CONFIG: config,
  })
  const { sub, org, exp, iat } = JSON.parse(Buffer.from(stdout.split('.')[1] ?? '', 'base64url').toString())
  expect({ sub, org, lifetime: exp - iat }).toEqual({ sub: 'line', org: 'environment', lifetime: 86_400 })
})

test('after the name and an equals sign, a value may begin with a dash', async () => {
  const { stdout } = await called(['token', '--user=-u1'], env)
  expect(JSON.parse(Buffer.from(stdout.split('.')[1] ?? '', 'base64url').toString()).sub).toBe('-u1')
})

test('`token` prints only a token, which names its user and is valid for 7 days by default', async () => {
  const claimsOf = async (...args: readonly string[]) => {
    const { stdout, stderr } = await called(['token', '--user', 'u1', ...args], env)
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+\n$/), ''])
    return JSON.parse(Buffer.from(stdout.split('.')[1] ?? '', 'base64url').toString())
  }
  const claims = await claimsOf()
  expect([claims.sub, claims.exp - claims.iat, 'org' in claims]).toEqual(['u1', 7 * 86_400, false])
  const { org, exp, iat } = await claimsOf('--organization', 'o1', '--expires', '30d')
  expect([org, exp - iat]).toEqual(['o1', 30 * 86_400])
  expect('owners' in claims).toBe(false)
  expect((await claimsOf('--owner', 'user:1', '--owner=team:a')).owners).toEqual(['user:1', 'team:a'])
})

test('a token with owners only is for the first of them', async () => {
  const { stdout } = await instep(['token', '--owner', 'user:1', '--owner', 'team:a'], {
    ...env,
    INSTEP_OWNER: 'team:b',
  })
  const claims = JSON.parse(Buffer.from(stdout.split('.')[1] ?? '', 'base64url').toString())
  expect(claims.sub).toBe('user:1')
  expect(claims.owners).toEqual(['user:1', 'team:a'])
})

test('output that cannot be written is a failure, unless the reader has gone', async () => {
  const full = openSync('/dev/full', 'w')
  const args = ['token', '--user', 'u1']
  const ended = await instep(args, env, full)
  closeSync(full)
  expect(ended).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The output cannot be written: .+\.\n$/),
  })
  const child = await start(args, env)
  child.stdout?.destroy()
  expect(await exitOf(child)).toBe(0)
})

test('an INSTEP_PORT that Kubernetes sets is ignored', async () => {
  const { stderr } = await called(['serve', '--database', 'memory:'], { INSTEP_PORT: 'tcp://10.0.0.1:80' })
  expect(stderr).toMatch(/INSTEP_JWT_SECRET is not set/)
  const wrong = await called(['serve', '--database', 'memory:'], { ...env, INSTEP_PORT: 'tcp' })
  expect(wrong.stderr).toMatch(/`INSTEP_PORT` must be/)
})
