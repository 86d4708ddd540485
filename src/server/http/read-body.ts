import { GrowingBytes } from '../../base/growing-bytes.ts'
import { bodyIsGone, Failure } from './failure.ts'

/**
 * The body of `request` as JSON. Throws a {@link Failure} where it is longer than `maxBytes`, by what `Content-Length` says
 * or by the bytes that come, before anything is parsed; where it is compressed; and where it is no JSON.
 */
export async function readJsonBody(request: Request, maxBytes: number): Promise<unknown> {
  const encoding = request.headers.get('Content-Encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    throw new Failure(415, 'unsupported_encoding', 'The body is to be sent without a `Content-Encoding`.')
  }
  const bytes = await readBytes(request, maxBytes)
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    // The engine's own error quotes the text.
    throw new Failure(400, 'bad_request', 'The body is not JSON in UTF-8.')
  }
}

async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (request.bodyUsed) throw bodyIsGone()
  const tooLarge = () =>
    new Failure(413, 'too_large', `The body is longer than ${maxBytes} bytes; send less at once.`)
  if (Number(request.headers.get('Content-Length')) > maxBytes) throw tooLarge()
  // Pieces are not kept: one of a byte takes hundreds.
  const bytes = new GrowingBytes()
  const gone = () => {
    throw new Failure(400, 'bad_request', 'The body broke off.')
  }
  // Not by `for await`, which would cancel the stream on the way out: on Node this ends the connection before the
  // answer is sent.
  const reader = (await bodyOf(request))?.getReader()
  const read = () => reader?.read().catch(gone)
  for (let next = await read(); next?.value; next = await read()) {
    const length = bytes.length + next.value.byteLength
    if (length > maxBytes) throw tooLarge()
    bytes.append(next.value)
  }
  return bytes.all
}

/** Firefox 153 has no `Request.body`: there, a body is read whole at once. */
async function bodyOf(request: Request): Promise<Request['body']> {
  const { body = new Response(await request.arrayBuffer()).body } = request
  return body
}
