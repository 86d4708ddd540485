import { separator } from '../log/separator.ts'
import { type BeginStream, tooMany } from './user-reads.ts'

/** A response that is shorter than this is sent at once, with its length. In UTF-16 units. */
const smallChars = 1_024

/** A response that is longer than this counts as long. In UTF-16 units. */
const longChars = 131_072

/** JSON text in UTF-8: bytes if the text is short, or else a stream. */
export type JsonBody = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>

/** The text of `{…head, [list]: […items]}`, in pieces. `batches` are items as JSON, joined by {@link separator}. */
export async function* documentText(
  head: Readonly<Record<string, unknown>>,
  list: string,
  batches: AsyncIterable<string>,
): AsyncGenerator<string> {
  const opening = `${JSON.stringify(head).slice(0, -1)},${JSON.stringify(list)}:[`
  let before = opening
  for await (const batch of batches) {
    yield before + batch
    before = separator
  }
  yield before === opening ? `${opening}]}` : '\n]}'
}

/**
 * Makes a body of `pieces`. Awaits the first pieces, so that an early error still becomes an error response. The rest
 * of a longer body is made as the client reads. The body breaks off if `pieces` fail. Throws a Failure for a long body
 * if `begin` does not allow another one.
 */
export async function bodyOf(
  pieces: AsyncGenerator<string>,
  onError: (error: unknown) => void,
  begin: BeginStream,
): Promise<JsonBody> {
  const encoder = new TextEncoder()
  let beginning = ''
  let isComplete = false
  const collect = async (length: number) => {
    while (!isComplete && beginning.length < length) {
      const { done, value } = await pieces.next()
      if (done) isComplete = true
      else beginning += value
    }
  }
  await collect(smallChars)
  if (isComplete) return encoder.encode(beginning)
  let isOver = false
  let abortResponse = () => {}
  const stream = begin(() => {
    isOver = true
    abortResponse()
    pieces.return(undefined).catch(onError)
  })
  if (!stream) {
    await collect(longChars)
    if (isComplete) return encoder.encode(beginning)
    await pieces.return(undefined)
    throw tooMany()
  }
  return new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(beginning))
      abortResponse = () => controller.error(new Error('The client has read nothing for too long.'))
    },
    async pull(controller) {
      stream.alive()
      try {
        const { done, value } = await pieces.next()
        if (isOver) return
        if (!done) return controller.enqueue(encoder.encode(value))
        stream.release()
        controller.close()
      } catch (error) {
        stream.release()
        onError(error)
        controller.error(new Error('The response could not be completed.'))
      }
    },
    async cancel() {
      isOver = true
      stream.release()
      await pieces.return(undefined)
    },
  })
}
