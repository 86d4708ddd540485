import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

/** What tokens for the service say of their audience. */
export const audience = 'https://sync.test/'

const callback = 'https://app.test/callback'
const credentials = { client_id: 'app', client_secret: 'what only the app and its provider know' }

/** An authorization server on a port of this machine, with an application's client and one for the service. */
export interface AuthProvider {
  readonly introspectionUrl: string
  readonly userinfoUrl: string
  readonly jwksUrl: string
  readonly service: { readonly clientId: string; readonly clientSecret: string }
  /** Signs `user` in by the pages of the provider, and resolves with tokens for the application. */
  signIn(user: string, options?: SignInOptions): Promise<Tokens>
  /** Takes a token back. */
  revoke(token: string): Promise<void>
  close(): Promise<void>
}

export interface SignInOptions {
  /** For whom the access token is; without it, for the provider itself. */
  readonly resource?: string
  /** As what the access token is made, for a `resource`. */
  readonly format?: 'opaque' | 'jwt'
}

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly id_token: string
}

export async function startAuthProvider({ tokenSeconds = 3_600 } = {}): Promise<AuthProvider> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const service = { clientId: 'sync service', clientSecret: 'a secret: 100% + & of the/service' }
  let format: 'opaque' | 'jwt' = 'opaque'
  const provider = new Provider(issuer, {
    clients: [
      {
        ...credentials,
        redirect_uris: [callback],
        grant_types: ['authorization_code', 'refresh_token'],
        scope: 'openid offline_access sync',
      },
      {
        client_id: service.clientId,
        client_secret: service.clientSecret,
        redirect_uris: [],
        response_types: [],
        grant_types: [],
      },
    ],
    scopes: ['openid', 'offline_access', 'sync'],
    findAccount: (_, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    issueRefreshToken: async () => true,
    ttl: {
      AccessToken: tokenSeconds,
      RefreshToken: 3_600,
      Grant: 3_600,
      Session: 3_600,
      Interaction: 3_600,
      IdToken: 3_600,
    },
    features: {
      introspection: { enabled: true, allowedPolicy: async () => true },
      revocation: { enabled: true, allowedPolicy: async () => true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: async () => ({
          scope: 'sync',
          accessTokenFormat: format,
          accessTokenTTL: tokenSeconds,
          audience,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  })
  server.on('request', provider.callback())

  const form = (fields: Record<string, string>, cookie = ''): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', cookie },
    body: new URLSearchParams(fields),
    redirect: 'manual',
  })

  const signIn: AuthProvider['signIn'] = async (user, options = {}) => {
    format = options.format ?? 'opaque'
    const resource = options.resource === undefined ? undefined : { resource: options.resource }
    const verifier = randomBytes(32).toString('base64url')
    const jar = new Map<string, string>()
    const visit = async (url: string, fields?: Record<string, string>) => {
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
      const init = fields ? form(fields, cookie) : { headers: { cookie }, redirect: 'manual' as const }
      const response = await fetch(url, init)
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        jar.set(name, value)
      }
      return new URL(response.headers.get('location') ?? url, url).href
    }
    const query = new URLSearchParams({
      client_id: credentials.client_id,
      redirect_uri: callback,
      response_type: 'code',
      scope: 'openid offline_access sync',
      prompt: 'consent',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...resource,
    })
    let url = await visit(`${issuer}/auth?${query}`)
    url = await visit(await visit(url, { prompt: 'login', login: user, password: 'any' }))
    url = await visit(await visit(url, { prompt: 'consent' }))
    const code = new URL(url).searchParams.get('code') ?? ''
    const grant = { grant_type: 'authorization_code', redirect_uri: callback, code_verifier: verifier, code }
    const response = await fetch(`${issuer}/token`, form({ ...credentials, ...grant, ...resource }))
    if (response.status !== 200) throw new Error(`No token: ${await response.text()}`)
    return response.json()
  }

  return {
    introspectionUrl: `${issuer}/token/introspection`,
    userinfoUrl: `${issuer}/me`,
    jwksUrl: `${issuer}/jwks`,
    service,
    signIn,
    async revoke(token) {
      await fetch(`${issuer}/token/revocation`, form({ ...credentials, token }))
    },
    async close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
