import { connect } from 'node:net'

/** What came over a connection before it ended. */
export interface RawAnswer {
  /** `undefined` where the connection ended without an answer. */
  readonly status: number | undefined
  /** Their names in small letters. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
  /** Whether neither an answer nor the end came in time. */
  readonly hung: boolean
}

export interface RawOptions {
  /** How long to wait, in ms. @default 10_000 */
  readonly maxMs?: number
  /** Ends this side after what it sends, or at once and without a farewell. @default stays */
  readonly after?: 'end' | 'reset'
}

/** Sends `bytes` as they are to `port` of this machine. Resolves with the first whole answer, or with the end. */
export function sendRaw(
  port: number,
  bytes: string | Uint8Array,
  { maxMs = 10_000, after }: RawOptions = {},
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    const done = (hung: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ ...parse(text), hung })
    }
    const timer = setTimeout(done, maxMs, true)
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      text += chunk
      if (isWhole(text)) done(false)
    })
    socket.on('error', () => {})
    socket.on('close', () => done(false))
    socket.write(bytes, () => {
      if (after === 'end') socket.end()
      if (after === 'reset') socket.resetAndDestroy()
    })
  })
}

function parse(text: string): Omit<RawAnswer, 'hung'> {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const status = /^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]
  const fields = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  })
  return {
    status: status === undefined ? undefined : Number(status),
    headers: new Map(fields),
    body: rest.join('\r\n\r\n'),
  }
}

function isWhole(text: string): boolean {
  if (!text.includes('\r\n\r\n')) return false
  const { status, headers, body } = parse(text)
  if (status === 100) return false
  if (status === 101 || status === 204) return true
  if (headers.get('transfer-encoding') === 'chunked') return body.endsWith('0\r\n\r\n')
  const length = headers.get('content-length')
  return length !== undefined && body.length >= Number(length)
}

/** A request as it is on the wire. Its head is not looked at: it may be as wrong as it likes. */
export function wire(line: string, headers: readonly string[], body = ''): string {
  return `${[line, ...headers].join('\r\n')}\r\n\r\n${body}`
}
