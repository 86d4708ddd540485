import { createHmac } from 'node:crypto'
import { exportJWK, exportSPKI, generateKeyPair, type JSONWebKeySet, SignJWT } from 'jose'
import { VirtualClock } from './virtual.ts'

export const secret = 'a secret that is long enough to sign with'
export const issuer = 'https://login.test/'
export const audience = 'https://sync.test/'

/** When the tokens of these tests are looked at. */
export const nowSeconds = new VirtualClock().now() / 1_000

/** What a token is to say that nothing is wrong with. */
export const claims = { sub: 'ann', iss: issuer, aud: audience, exp: nowSeconds + 3_600 }

/** A request with `token`, and whatever else. */
export function bearing(token: string, headers: Record<string, string> = {}): Request {
  return new Request(audience, { headers: { authorization: `Bearer ${token}`, ...headers } })
}

/** A token put together by hand, whatever its header says. Without a key, it has an empty signature. */
export function forged(header: unknown, payload: unknown = claims, key: string | undefined = secret): string {
  const signed = `${part(header)}.${part(payload)}`
  return `${signed}.${key === undefined ? '' : createHmac('sha256', key).update(signed).digest('base64url')}`
}

export function part(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
}

/** A provider's pair of keys: the public one as it is published, and a way to sign with the private one. */
export async function keyPair(alg: string, kid: string) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid }
  const sign = (payload: object = claims, header: object = {}) =>
    new SignJWT({ ...payload }).setProtectedHeader({ alg, kid, ...header }).sign(privateKey)
  return { jwk, pem: await exportSPKI(publicKey), sign }
}

export function setOf(...pairs: readonly { readonly jwk: object }[]): JSONWebKeySet {
  return { keys: pairs.map(({ jwk }) => ({ kty: '', ...jwk })) }
}
