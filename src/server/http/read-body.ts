import type { Clock } from '../../base/environment.ts'
import { GrowingBytes } from '../../base/growing-bytes.ts'
import { Timer } from '../../base/timer.ts'
import type { Reserve } from './body-limits.ts'
import { bodyIsGone, Failure } from './failure.ts'

/** The time limit for the arrival of a body: `minMs`, plus one second for each `bytesPerSecond` bytes. */
const minMs = 30_000
const bytesPerSecond = 10_000

export interface ReadBodyOptions {
  readonly maxBytes: number
  /** Called with the length of the body, as far as it is known. */
  readonly reserve: Reserve
  readonly clock: Clock
}

/**
 * Reads the body of `request`. Throws a {@link Failure} if the body is longer than `maxBytes` or compressed, or if it
 * does not arrive in time. The length is checked by `Content-Length` and by the bytes that arrive.
 */
export async function readBody(request: Request, options: ReadBodyOptions): Promise<Uint8Array> {
  const encoding = request.headers.get('Content-Encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    throw new Failure(415, 'unsupported_encoding', 'The body must be sent without a `Content-Encoding`.')
  }
  return readBytes(request, options)
}

/** Parses a body. Throws a {@link Failure} if it is not JSON. */
export function parseBody(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    // The error of `JSON.parse` quotes the text.
    throw new Failure(400, 'bad_request', 'The body is not JSON in UTF-8.')
  }
}

async function readBytes(request: Request, options: ReadBodyOptions): Promise<Uint8Array> {
  const { maxBytes, reserve, clock } = options
  if (request.bodyUsed) throw bodyIsGone()
  const tooLarge = () =>
    new Failure(413, 'too_large', `The body is longer than ${maxBytes} bytes; send less at once.`)
  const announced = Number(request.headers.get('Content-Length'))
  if (announced > maxBytes) throw tooLarge()
  if (announced > 0) reserve(announced)
  // The pieces are copied into one buffer: each piece costs hundreds of bytes, and may hold a single one.
  const bytes = new GrowingBytes()
  const gone = () => {
    throw new Failure(400, 'bad_request', 'The body broke off.')
  }
  // `for await` would cancel the stream when an error is thrown. On Node, that ends the connection before the response
  // is sent.
  const reader = (await bodyOf(request))?.getReader()
  let onLate = () => {}
  const late = new Promise<never>((_, reject) => {
    onLate = () => reject(tooSlow())
  })
  late.catch(() => {})
  const timer = new Timer(clock, onLate)
  timer.set(minMs + (1_000 * (announced > 0 ? announced : maxBytes)) / bytesPerSecond)
  const read = () => Promise.race([reader?.read().catch(gone), late])
  try {
    for (let next = await read(); next?.value; next = await read()) {
      const length = bytes.length + next.value.byteLength
      if (length > maxBytes) throw tooLarge()
      reserve(length)
      bytes.append(next.value)
    }
  } finally {
    timer.clear()
  }
  return bytes.all
}

/** Firefox 153 has no `Request.body`, so the whole body is read at once there. */
async function bodyOf(request: Request): Promise<Request['body']> {
  const { body = new Response(await request.arrayBuffer()).body } = request
  return body
}

/**
 * The response for a body that arrives too slowly. It closes the connection, which the rest of the body would keep
 * busy.
 */
function tooSlow(): Failure {
  const message = 'The body did not arrive in time; send less at once.'
  return new Failure(408, 'too_slow', message, { Connection: 'close' })
}
