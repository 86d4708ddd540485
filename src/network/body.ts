import { NetworkError } from '../base/errors.ts'
import { decode } from './byte-buffer.ts'
import { redactError } from './redact-error.ts'
import type { PendingRequest } from './request.ts'

/** So long may go by without a byte, once an answer has begun, in ms. */
export const idleMs = 30_000

/** No more bytes than this are handed on in one go, whatever a runtime brings at once. */
const partBytes = 64 * 1024

function* partsOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += partBytes) {
    yield bytes.subarray(from, from + partBytes)
  }
}

/**
 * The body of `response`, decoded from any content coding. Ends with a NetworkError where the connection breaks off,
 * or `idleMs` go by without a byte; the time that the consumer takes does not count.
 */
export async function* readBody(response: Response, call: PendingRequest): AsyncGenerator<Uint8Array> {
  const wait = <T>(promise: Promise<T>) =>
    call.wait(promise.catch(brokeOff), idleMs, 'Waiting for more of an answer')
  // An answer without content has no body, and neither has any where a runtime cannot stream.
  if (!response.body) return yield* partsOf(new Uint8Array(await wait(response.arrayBuffer())))
  const reader = response.body.getReader()
  try {
    for (let next = await wait(reader.read()); !next.done; next = await wait(reader.read())) {
      yield* partsOf(next.value)
    }
  } finally {
    // Not awaited: a source that hangs may hang in its cancelling, too.
    reader.cancel().catch(() => {})
  }
}

/**
 * The whole body as text, or its beginning of about `limit` bytes. Rejects with a NetworkError, too, where `ms` bring
 * neither 64 KiB of it nor its end.
 */
export async function readText(
  response: Response,
  call: PendingRequest,
  ms: number,
  limit = Number.POSITIVE_INFINITY,
): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const body = readBody(response, call)
  let text = ''
  let length = 0
  const readsMore = async () => {
    const enough = Math.min(length + partBytes, limit)
    while (length < enough) {
      const next = await body.next()
      if (next.done) return false
      text += decode(decoder, next.value, { stream: true })
      length += next.value.length
    }
    return length < limit
  }
  try {
    let isMore = true
    while (isMore) isMore = await call.wait(readsMore(), ms, 'Waiting for 64 KiB more of an answer')
  } finally {
    void body.return(undefined)
  }
  return text + decode(decoder)
}

function brokeOff(cause: unknown): never {
  throw new NetworkError('unreachable', 'The connection broke off in the middle of an answer.', {
    cause: redactError(cause),
  })
}
