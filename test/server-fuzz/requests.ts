/** Where a request goes. */
export interface Target {
  readonly method: string
  readonly path: string
  readonly headers?: readonly string[]
  readonly body?: string
}

export const upgrade = [
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]

const body = '{"txs":[{"id":"a","since":0,"ops":[{"op":"d","t":"Todo","id":"none"}]}]}'

/** One proper request for everything that can be asked for, and some for what cannot. */
export const targets: readonly Target[] = [
  { method: 'GET', path: '/sync/v1/bootstrap' },
  { method: 'POST', path: '/sync/v1/bootstrap' },
  { method: 'GET', path: '/sync/v1/delta?since=0' },
  { method: 'GET', path: '/sync/v1/ws' },
  { method: 'GET', path: '/sync/v1/ws', headers: upgrade },
  { method: 'POST', path: '/sync/v1/tx', headers: [`Content-Length: ${body.length}`], body },
  { method: 'GET', path: '/healthz' },
  { method: 'GET', path: '/metrics' },
  { method: 'GET', path: '/sync/v1/elsewhere' },
  { method: 'GET', path: '/' },
]

/** What may be wrong about the first line: made of its method and its path. */
export const lines: readonly ((method: string, path: string) => string)[] = [
  ...['HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND', 'M-SEARCH', 'get'].map(
    (method) => (_: string, path: string) => `${method} ${path} HTTP/1.1`,
  ),
  ...['FOO', 'G\0T', '', 'GET GET', 'É'].map(
    (method) => (_: string, path: string) => `${method} ${path} HTTP/1.1`,
  ),
  ...['HTTP/0.9', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/9.9', 'HTTP/1.1.1', 'ICY/1.1', ''].map(
    (version) => (method: string, path: string) => `${method} ${path} ${version}`,
  ),
  ...[
    '%',
    '%zz',
    '%00',
    '%ff',
    '/',
    '/..',
    '/../..',
    '//',
    '/./',
    ';x=1',
    '#',
    '?',
    '?since=%zz',
    '\\',
    '\u00e9',
  ].map((end) => (method: string, path: string) => `${method} ${path}${end} HTTP/1.1`),
  ...[
    ...['since=%zz', 'since=1&since=2', 'since=1e3', 'since=0x10', 'since=+1', 'since= 1', 'since=%00'],
    ...[
      'since=%ED%A0%80',
      'since[]=1',
      'since[a]=1',
      '__proto__[since]=1',
      'since=9007199254740993',
      '=&=&&',
    ],
    ...[`since=${'9'.repeat(1_000)}`, `${'a=1&'.repeat(3_000)}`, `since=${'1'.repeat(20_000)}`, 'since=NaN'],
    ...['since=-0', 'since=0.5', 'since=١', "since=1';drop table instep_log;--"],
  ].map((query) => (method: string, path: string) => `${method} ${path.split('?')[0]}?${query} HTTP/1.1`),
  ...[
    '*',
    'x',
    '//x',
    'http://',
    'http://[/',
    'http://[::1',
    'http://x:99999/',
    'file:///etc/passwd',
    'a:b',
  ].map((target) => (method: string) => `${method} ${target} HTTP/1.1`),
  (method, path) => `${method} http://elsewhere.test${path} HTTP/1.1`,
  (method, path) => `${method} http://user:password@elsewhere.test${path} HTTP/1.1`,
  (method, path) => `${method} //elsewhere.test${path} HTTP/1.1`,
  (method, path) => `${method}  ${path}  HTTP/1.1`,
  (method, path) => `${method}\t${path}\tHTTP/1.1`,
  (method, path) => `\r\n\r\n${method} ${path} HTTP/1.1`,
]

const long = 'x'.repeat(15_000)

/** Headers that take the place of those of the same name, or come beside them. */
export const headers: readonly (readonly string[])[] = [
  ...['', '[', 'a b', 'x/healthz?', 'x@y', 'x:99999', 'x\\y', '%', `${long}`, '\u00ff', 'x#y'].map((host) => [
    `Host: ${host}`,
  ]),
  ['Host: a', 'Host: b'],
  ...[
    '',
    'Bearer',
    'Bearer ',
    'Bearer a b',
    'Basic YTpi',
    'Bearer é\u00ff',
    `Bearer ${long}`,
    'bearer\tx',
  ].map((authorization) => [`Authorization: ${authorization}`]),
  ['Authorization: Bearer x', 'Authorization: Bearer y'],
  ['X-API-Key: ', 'X-API-Key: x', 'X-API-Key: y'],
  ...['abc', '-1', '1e3', '+1', '0x1', '99999999999999999999', ''].map((length) => [
    `Content-Length: ${length}`,
  ]),
  ['Content-Length: 1', 'Content-Length: 2'],
  ['Content-Length: 3', 'Transfer-Encoding: chunked'],
  ['Transfer-Encoding: gzip'],
  ['Transfer-Encoding: chunked, chunked'],
  ...['gzip', 'br', 'deflate, gzip', 'é', ''].map((coding) => [`Content-Encoding: ${coding}`]),
  ...['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'é', ''].map(
    (type) => [`Content-Type: ${type}`],
  ),
  ['Accept-Encoding: gzip;q=0, *;q=x, ,,'],
  ['Accept: \u00ff'],
  ['Origin: null'],
  ['Origin: https://\u00e9'],
  [`Origin: ${long}`],
  [`X-Request-Id: ${'\u00e9'.repeat(100)}`],
  ['X-Request-Id: a', 'X-Request-Id: b'],
  ['Expect: 200-maybe'],
  ['Range: bytes=0-0', 'If-None-Match: *'],
  ['X-Forwarded-For: \u0001'],
  ['__proto__: x', 'constructor: y', 'toString: z'],
  ['No-Colon'],
  [': nameless'],
  [' folded: x'],
  ['A: b', '\tfolded further'],
  ['Bad Name: x'],
  ['A: \0'],
  Array.from({ length: 500 }, (_, n) => `X-${n}: y`),
  Array.from({ length: 3_000 }, (_, n) => `X-${n}: y`),
  [`X-Long: ${'y'.repeat(20_000)}`],
  ['Upgrade: h2c', 'HTTP2-Settings: x'],
  ['Upgrade: '],
  ['Upgrade: websocket'],
  [...upgrade.slice(0, 2), 'Sec-WebSocket-Key: x'],
  [...upgrade.slice(0, 2), 'Sec-WebSocket-Key: \u00ff'],
  [...upgrade.filter((field) => !field.includes('Version')), 'Sec-WebSocket-Version: 99'],
  [...upgrade, 'Sec-WebSocket-Protocol: ,,'],
  [...upgrade, 'Sec-WebSocket-Extensions: permessage-deflate; x="'],
  [...upgrade, `Sec-WebSocket-Protocol: ${long}`],
]
