import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Serving, startCommand } from './command-line.ts'

const provider = createServer()
const running: Serving[] = []
let jwks = ''
let folder = ''
let sign: (claims: object, alg?: 'ES256' | 'RS256') => Promise<string>

beforeAll(async () => {
  const pairs = { ES256: await generateKeyPair('ES256'), RS256: await generateKeyPair('RS256') }
  const keys = await Promise.all(
    Object.entries(pairs).map(async ([alg, { publicKey }]) => ({
      ...(await exportJWK(publicKey)),
      alg,
      kid: alg,
    })),
  )
  provider.on('request', (_, response) => response.end(JSON.stringify({ keys })))
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  jwks = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/jwks`
  sign = (claims, alg = 'ES256') =>
    new SignJWT({ sub: 'u1', ...claims })
      .setProtectedHeader({ alg, kid: alg })
      .setExpirationTime('1h')
      .sign(pairs[alg].privateKey)
  folder = mkdtempSync(join(tmpdir(), 'instep-jwks-'))
})

afterEach(async () => {
  for (const serving of running.splice(0)) await serving.end('SIGKILL')
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  provider.close()
})

async function statusesWith(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  tokens: readonly Promise<string>[],
) {
  const serving = await startCommand(['serve', '--port', '0', '--database', 'memory:', ...args], env)
  running.push(serving)
  const statuses: number[] = []
  for (const token of tokens) {
    const headers = { authorization: `Bearer ${await token}` }
    statuses.push((await fetch(`${serving.url}/bootstrap`, { headers })).status)
  }
  return statuses
}

test('`serve` accepts tokens of a provider’s key set for this service, without a secret', async () => {
  const args = ['--jwks', jwks, '--audience', 'sync', '--issuer', 'login']
  const good = { aud: 'sync', iss: 'login' }
  const tokens = [
    sign(good),
    sign(good, 'RS256'),
    sign({ ...good, aud: 'another' }),
    sign({ ...good, iss: 'another' }),
    Promise.resolve('nonsense'),
  ]
  expect(await statusesWith(args, {}, tokens)).toEqual([200, 200, 401, 401, 401])
})

test('environment and config file set the same options; `any` checks no audience, and other algorithms are refused', async () => {
  const config = join(folder, 'instep.json')
  writeFileSync(config, JSON.stringify({ jwks, algorithms: ['RS256'] }))
  const env = { INSTEP_CONFIG: config, INSTEP_AUDIENCE: 'any' }
  expect(await statusesWith([], env, [sign({}, 'RS256'), sign({}, 'ES256')])).toEqual([200, 401])
})
