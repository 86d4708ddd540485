import { NetworkError } from '../base/errors.ts'
import { decode } from './byte-buffer.ts'
import { redactError } from './redact-error.ts'
import type { PendingRequest } from './request.ts'

/** The maximum time in ms between two parts of a response body. */
export const idleMs = 30_000

/** The maximum size of a part, in bytes: some runtimes return much more at once. */
const partBytes = 64 * 1024

function* partsOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += partBytes) {
    yield bytes.subarray(from, from + partBytes)
  }
}

/**
 * Yields the body of `response`, decoded, in parts of at most 64 KiB. Throws a NetworkError if the connection breaks
 * off or no byte arrives for `idleMs`. The time that the consumer takes does not count.
 */
export async function* readBody(response: Response, call: PendingRequest): AsyncGenerator<Uint8Array> {
  const wait = <T>(promise: Promise<T>) =>
    call.wait(promise.catch(brokeOff), idleMs, 'Waiting for more of a response')
  // A response without content has no body; nor has any response if the runtime cannot stream.
  if (!response.body) return yield* partsOf(new Uint8Array(await wait(response.arrayBuffer())))
  const reader = response.body.getReader()
  try {
    for (let next = await wait(reader.read()); !next.done; next = await wait(reader.read())) {
      yield* partsOf(next.value)
    }
  } finally {
    // Not awaited: a source that hangs may hang in `cancel`, too.
    reader.cancel().catch(() => {})
  }
}

/**
 * Resolves with the whole body as text, or with its first `limit` bytes or a little more. Also rejects with a
 * NetworkError if `ms` pass without either 64 KiB more or the end of the body.
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
  const readMore = async () => {
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
    while (isMore) isMore = await call.wait(readMore(), ms, 'Waiting for 64 KiB more of a response')
  } finally {
    void body.return(undefined)
  }
  return text + decode(decoder)
}

function brokeOff(cause: unknown): never {
  throw new NetworkError('unreachable', 'The connection broke off in the middle of a response.', {
    cause: redactError(cause),
  })
}
