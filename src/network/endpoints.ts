import { wrongOption } from '../base/errors.ts'
import { isObject } from '../protocol/json.ts'

/** The address of the service: one base address, one for HTTP and one for sockets, or every address. */
export interface EndpointOptions {
  /** `/bootstrap`, `/delta`, `/ws` and `/tx` are appended to its path. Its query is kept. */
  readonly baseUrl?: string | { readonly http: string; readonly ws: string } | undefined
  readonly endpoints?: EndpointAddresses | undefined
}

/** Each is an absolute URL, or a path relative to the page. Without `txUrl` the client is read-only. */
export interface EndpointAddresses {
  readonly bootstrapUrl: string
  readonly deltaUrl: string
  readonly wsUrl: string
  readonly txUrl?: string | undefined
}

/** The addresses in use, all absolute URLs. `txUrl` is `undefined` if the client is read-only. */
export interface Endpoints {
  readonly bootstrapUrl: string
  readonly deltaUrl: string
  readonly wsUrl: string
  readonly txUrl: string | undefined
}

type Scheme = 'http' | 'ws'

/**
 * Resolves the addresses of `options`; `page` is the base of paths. Throws a ConfigurationError that names the option
 * and the expected value.
 */
export function resolveEndpoints(options: EndpointOptions, page: string | undefined): Endpoints {
  const { baseUrl, endpoints } = options
  if (endpoints === undefined) return resolveBase(baseUrl, page)
  if (baseUrl !== undefined) fail('endpoints', 'is set beside `baseUrl`', 'only one of the two')
  const { bootstrapUrl, deltaUrl, wsUrl, txUrl } = endpoints
  const href = (name: string, value: unknown, scheme: Scheme) =>
    parse(`endpoints.${name}`, value, scheme, page).href
  return {
    bootstrapUrl: href('bootstrapUrl', bootstrapUrl, 'http'),
    deltaUrl: href('deltaUrl', deltaUrl, 'http'),
    wsUrl: href('wsUrl', wsUrl, 'ws'),
    txUrl: txUrl === undefined ? undefined : href('txUrl', txUrl, 'http'),
  }
}

/** The `bootstrapUrl` that clients with the `baseUrl` or the `bootstrapUrl` `address` have. */
export function formerUrls(address: unknown, page: string | undefined): readonly string[] {
  const url = parse('movedFrom', address, 'http', page)
  return [below(url, 'bootstrap'), url.href]
}

/** `url` with a parameter added to its query. */
export function withQuery(url: string, name: string, value: string | number): string {
  return `${url}${url.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(value)}`
}

/** `url` for messages and logs: without user and query, which may hold a key. */
export function redactUrl(url: string): string {
  const parsed = urlOf(url)
  return parsed ? `${parsed.protocol}//${parsed.host}${parsed.pathname}` : '(not an address)'
}

function resolveBase(baseUrl: unknown, page: string | undefined): Endpoints {
  const isPair = isObject(baseUrl)
  const http = isPair
    ? parse('baseUrl.http', baseUrl.http, 'http', page)
    : parse('baseUrl', baseUrl, 'http', page)
  const ws = isPair ? parse('baseUrl.ws', baseUrl.ws, 'ws', page) : asSocket(http)
  return {
    bootstrapUrl: below(http, 'bootstrap'),
    deltaUrl: below(http, 'delta'),
    wsUrl: below(ws, 'ws'),
    txUrl: below(http, 'tx'),
  }
}

function below(base: URL, name: string): string {
  const url = new URL(base)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${name}`
  return url.href
}

function asSocket(url: URL): URL {
  return new URL(url.href.replace(/^http/, 'ws'))
}

function parse(option: string, value: unknown, scheme: Scheme, page: string | undefined): URL {
  const expected = `a URL with ${scheme}:// or ${scheme}s://, or a path on a page`
  if (value === undefined) fail(option, 'is missing', expected)
  const url =
    typeof value === 'string' && value.trim() ? (urlOf(value) ?? relativeTo(page, value, scheme)) : undefined
  if (!url) fail(option, 'is not a URL', expected)
  if (url.protocol !== `${scheme}:` && url.protocol !== `${scheme}s:`) {
    fail(option, `begins with \`${url.protocol}\``, expected)
  }
  if (url.username || url.password) fail(option, 'names a user', 'credentials in `token` or `apiKey`')
  if (url.searchParams.has('token')) fail(option, 'has a `token`', 'it in the option `token`')
  if (url.searchParams.has('since')) fail(option, 'has a `since`', 'a URL without it')
  if (url.href.includes('#')) fail(option, 'has a fragment', 'a URL without `#`')
  return url
}

function relativeTo(page: string | undefined, path: string, scheme: Scheme): URL | undefined {
  const url = urlOf(path, page)
  return url && scheme === 'ws' ? asSocket(url) : url
}

function urlOf(value: string, base?: string): URL | undefined {
  try {
    return new URL(value, base)
  } catch {
    return undefined
  }
}

function fail(option: string, fault: string, expected: string): never {
  throw wrongOption(option, `${fault}; expected ${expected}.`)
}
