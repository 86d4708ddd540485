import { GrowingBytes } from '../../base/growing-bytes.ts'
import { bodyIsGone, Failure } from './failure.ts'

/**
 * Reads the body of `request` as JSON. Throws a {@link Failure} if the body is longer than `maxBytes`, compressed, or
 * not JSON. The length is checked before parsing, by `Content-Length` and by the bytes that arrive.
 */
export async function readJsonBody(request: Request, maxBytes: number): Promise<unknown> {
  const encoding = request.headers.get('Content-Encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    throw new Failure(415, 'unsupported_encoding', 'The body must be sent without a `Content-Encoding`.')
  }
  const bytes = await readBytes(request, maxBytes)
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    // The error of `JSON.parse` quotes the text.
    throw new Failure(400, 'bad_request', 'The body is not JSON in UTF-8.')
  }
}

async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (request.bodyUsed) throw bodyIsGone()
  const tooLarge = () =>
    new Failure(413, 'too_large', `The body is longer than ${maxBytes} bytes; send less at once.`)
  if (Number(request.headers.get('Content-Length')) > maxBytes) throw tooLarge()
  // The pieces are copied into one buffer: each piece costs hundreds of bytes, and may hold a single one.
  const bytes = new GrowingBytes()
  const gone = () => {
    throw new Failure(400, 'bad_request', 'The body broke off.')
  }
  // `for await` would cancel the stream when an error is thrown. On Node, that ends the connection before the response
  // is sent.
  const reader = (await bodyOf(request))?.getReader()
  const read = () => reader?.read().catch(gone)
  for (let next = await read(); next?.value; next = await read()) {
    const length = bytes.length + next.value.byteLength
    if (length > maxBytes) throw tooLarge()
    bytes.append(next.value)
  }
  return bytes.all
}

/** Firefox 153 has no `Request.body`, so the whole body is read at once there. */
async function bodyOf(request: Request): Promise<Request['body']> {
  const { body = new Response(await request.arrayBuffer()).body } = request
  return body
}
