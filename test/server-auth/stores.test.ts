import { PGlite } from '@electric-sql/pglite'
import { Pool } from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  apiKeyAuthentication,
  createAuthTables,
  type IssuingKeyStore,
  type IssuingSessionStore,
  memoryKeyStore,
  memorySessionStore,
  type RunSql,
  sessionAuthentication,
  sqlKeyStore,
  sqlSessionStore,
} from '../../src/server/index.ts'
import { bearing } from '../support/auth-tokens.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { VirtualClock } from '../support/virtual.ts'

const clock = new VirtualClock()
const anHour = 3_600_000
const expiresAt = clock.now() + anHour

let pglite: PGlite
const postgres = ownPostgres()
let pool: Pool
const inPGlite: RunSql = async (statement, values) =>
  (await pglite.query<Record<string, unknown>>(statement, [...values])).rows
const inPostgres: RunSql = async (statement, values) => (await pool.query(statement, [...values])).rows
const databases = [
  ['PGlite', inPGlite],
  ['PostgreSQL', inPostgres],
] as const

/** All that the tables hold, as text. */
async function dump(run: RunSql): Promise<string> {
  const tables = await Promise.all(
    ['instep_sessions', 'instep_api_keys'].map((name) => run(`SELECT * FROM ${name}`, [])),
  )
  return JSON.stringify(tables)
}

beforeAll(async () => {
  pglite = await PGlite.create()
  pool = new Pool({ connectionString: await postgres.database('auth') })
  const made = databases.flatMap(([, run]) => [createAuthTables(run), createAuthTables(run)])
  await Promise.all(made)
})

afterAll(async () => {
  await Promise.all([pglite.close(), pool.end()])
})

const withKey = (key: string) => new Request('https://sync.test/', { headers: { 'x-api-key': key } })

/** `secret` with another letter in its proof, or in its id. */
const changed = (secret: string, at: number) => {
  const letter = secret[at] === 'A' ? 'B' : 'A'
  return secret.slice(0, at) + letter + secret.slice(at + 1)
}

describe.each<[string, () => IssuingSessionStore]>([
  ['memory', () => memorySessionStore()],
  ...databases.map(([name, run]): [string, () => IssuingSessionStore] => [name, () => sqlSessionStore(run)]),
])('sessions in %s', (_, open) => {
  let store: IssuingSessionStore
  const check = (token: string) => sessionAuthentication({ store, clock })(bearing(token))

  beforeEach(() => {
    store = open()
  })

  test('are accepted until they expire', async () => {
    const { secret, id } = await store.create({ userId: 'ann', organizationId: 'acme', expiresAt })
    expect(await check(secret)).toEqual({
      userId: 'ann',
      organizationId: 'acme',
      expiresAt,
      credentialId: id,
    })
    const end = await store.create({ userId: 'ann', expiresAt: clock.now() })
    expect(await check(end.secret)).toEqual({ refused: 'token_expired' })
    const nearly = await store.create({ userId: 'ann', expiresAt: clock.now() + 1 })
    expect(await check(nearly.secret)).toMatchObject({ userId: 'ann', expiresAt: clock.now() + 1 })
  })

  test('keep the owners that they are created with', async () => {
    const owners = ['user:ann', "team:o'brien"]
    const { secret } = await store.create({ userId: 'ann', owners, expiresAt })
    expect(await check(secret)).toMatchObject({ owners })
    const none = await store.create({ userId: 'ann', owners: [], expiresAt })
    expect(await check(none.secret)).toMatchObject({ owners: [] })
    const wrong = store.create({ userId: 'ann', owners: [''], expiresAt })
    await expect(wrong).rejects.toMatchObject({ name: 'ConfigurationError', option: 'owners' })
  })

  test('that do not exist are refused', async () => {
    const { secret, id } = await store.create({ userId: 'ann', expiresAt })
    const wrong = [
      changed(secret, 0),
      changed(secret, 20),
      id,
      `${id}.`,
      `.${secret}`,
      `${secret}x`,
      'nonsense',
      "' OR 1=1",
    ]
    for (const token of wrong) expect(await check(token)).toEqual({ refused: 'invalid_token' })
  })

  test('can be revoked one by one, by user and by organization', async () => {
    const make = async (userId: string, organizationId: string) =>
      store.create({ userId, organizationId, expiresAt })
    const [a, b, c, d] = [
      await make('ann', 'acme'),
      await make('ann', 'acme'),
      await make('ann', 'zeta'),
      await make('bob', 'acme'),
    ]
    const inForce = async () => {
      const found = await Promise.all([a, b, c, d].map(({ secret }) => store.find(secret)))
      return found.map((session) => session !== undefined)
    }
    await store.revoke({ id: a.id })
    expect(await inForce()).toEqual([false, true, true, true])
    await store.revoke({ userId: 'ann', organizationId: 'acme' })
    expect(await inForce()).toEqual([false, false, true, true])
    await store.revoke({ organizationId: 'acme' })
    expect(await inForce()).toEqual([false, false, true, false])
    await store.revoke({ userId: 'ann' })
    expect(await inForce()).toEqual([false, false, false, false])
    expect(await check(a.secret)).toEqual({ refused: 'invalid_token' })
  })

  test.each(['{}', '{"organizationId":null}'])('cannot be revoked all by mistake: %s', async (slipped) => {
    const { secret } = await store.create({ userId: 'ann', expiresAt })
    const slip: { userId?: string } = JSON.parse(slipped)
    await expect(store.revoke(slip)).rejects.toMatchObject({ name: 'ConfigurationError', option: 'which' })
    expect(await check(secret)).toMatchObject({ userId: 'ann' })
  })

  test('can be deleted after they have expired', async () => {
    const [old, other] = [
      await store.create({ userId: 'ann', expiresAt: clock.now() + 1 }),
      await store.create({ userId: 'ann', expiresAt }),
    ]
    await store.deleteExpired(clock.now() + 1)
    expect(await store.find(old.secret)).toBeUndefined()
    expect(await store.find(other.secret)).toMatchObject({ userId: 'ann' })
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 1.5])(
    'have an `expiresAt` that is an integer, not %d',
    async (end) => {
      await expect(store.create({ userId: 'ann', expiresAt: end })).rejects.toMatchObject({
        option: 'expiresAt',
      })
    },
  )
})

describe.each<[string, () => IssuingKeyStore]>([
  ['memory', () => memoryKeyStore()],
  ...databases.map(([name, run]): [string, () => IssuingKeyStore] => [name, () => sqlKeyStore(run)]),
])('keys in %s', (_, open) => {
  let store: IssuingKeyStore
  const check = (key: string) => apiKeyAuthentication({ store, clock })(withKey(key))

  beforeEach(() => {
    store = open()
  })

  test('identify their user, without an expiry or until it', async () => {
    const { secret, id } = await store.create({ userId: 'robot', organizationId: 'acme' })
    expect(await check(secret)).toEqual({
      userId: 'robot',
      organizationId: 'acme',
      expiresAt: undefined,
      credentialId: id,
    })
    const ending = await store.create({ userId: 'robot', expiresAt })
    expect(await check(ending.secret)).toMatchObject({ userId: 'robot', expiresAt })
    const ended = await store.create({ userId: 'robot', expiresAt: clock.now() })
    expect(await check(ended.secret)).toEqual({ refused: 'token_expired' })
  })

  test('keep the owners that they are created with', async () => {
    const { secret } = await store.create({ userId: 'robot', owners: ['team:a', 'team:b'] })
    expect(await check(secret)).toMatchObject({ userId: 'robot', owners: ['team:a', 'team:b'] })
  })

  test('that are missing, changed or inactive are refused', async () => {
    const { secret, id } = await store.create({ userId: 'robot' })
    const wrong = [changed(secret, 0), changed(secret, 20), id, 'nonsense', 'x'.repeat(100_000)]
    for (const key of wrong) expect(await check(key)).toEqual({ refused: 'invalid_token' })
    await store.revoke({ id })
    expect(await store.find(secret)).toMatchObject({ userId: 'robot', active: false })
    expect(await check(secret)).toEqual({ refused: 'invalid_token' })
  })

  test('stay when expired ones are deleted', async () => {
    const { secret } = await store.create({ userId: 'robot' })
    await store.deleteExpired(Number.MAX_SAFE_INTEGER)
    expect(await check(secret)).toMatchObject({ userId: 'robot' })
  })

  test('are not looked up if none is sent, nor in another header', async () => {
    const authenticate = apiKeyAuthentication({ store, clock })
    const { secret } = await store.create({ userId: 'robot' })
    expect(await authenticate(bearing(secret))).toEqual({ refused: 'no_token' })
    expect(await authenticate(withKey(''))).toEqual({ refused: 'invalid_token' })
  })
})

test.each(databases)('a reader of the table in %s cannot sign in with its content', async (_, run) => {
  const secrets = [
    await sqlSessionStore(run).create({ userId: 'ann', expiresAt }),
    await sqlKeyStore(run).create({ userId: 'robot' }),
  ]
  const kept = await dump(run)
  for (const { secret, id } of secrets) {
    expect(kept).toContain(id)
    expect(kept).not.toContain(secret.split('.')[1])
  }
})

test.each(databases)('a key in %s with an invalid hash is refused', async (_, run) => {
  const { secret, id } = await sqlKeyStore(run).create({ userId: 'robot' })
  await run("UPDATE instep_api_keys SET hash = 'none' WHERE id = $1", [id])
  const check = apiKeyAuthentication({ store: sqlKeyStore(run), clock })
  expect(await check(withKey(secret))).toEqual({ refused: 'invalid_token' })
})

test.each(databases)('in %s, a session is not a valid key, nor a key a valid session', async (_, run) => {
  const [session, key] = [
    await sqlSessionStore(run).create({ userId: 'ann', expiresAt }),
    await sqlKeyStore(run).create({ userId: 'robot', expiresAt }),
  ]
  expect(await sqlKeyStore(run).find(session.secret)).toBeUndefined()
  expect(await sqlSessionStore(run).find(key.secret)).toBeUndefined()
})

test('a token or key that is too long is not looked up', async () => {
  const sought: string[] = []
  const find = async (secret: string) => {
    sought.push(secret)
    return undefined
  }
  const checks = [
    (text: string) => sessionAuthentication({ store: { find }, clock })(bearing(text)),
    (text: string) => apiKeyAuthentication({ store: { find }, clock })(withKey(text)),
  ]
  for (const check of checks) expect(await check('x'.repeat(20_000))).toEqual({ refused: 'invalid_token' })
  expect(sought).toEqual([])
})

test('a custom store gets the token as it is', async () => {
  const store = {
    find: async (token: string) => (token === 'sid-1' ? { userId: 'ann', expiresAt } : undefined),
  }
  const authenticate = sessionAuthentication({ store, clock })
  expect(await authenticate(bearing('sid-1'))).toEqual({ userId: 'ann', expiresAt })
  expect(await authenticate(bearing('sid-2'))).toEqual({ refused: 'invalid_token' })
})
