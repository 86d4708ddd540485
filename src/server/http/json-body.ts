import { separator } from '../log/separator.ts'

/** A response that is shorter than this is sent at once, with its length. In UTF-16 units. */
const smallChars = 1_024

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
 * of a longer body is made as the client reads. The body breaks off if `pieces` fail.
 */
export async function bodyOf(
  pieces: AsyncGenerator<string>,
  onError: (error: unknown) => void,
): Promise<JsonBody> {
  const encoder = new TextEncoder()
  let beginning = ''
  while (beginning.length < smallChars) {
    const { done, value } = await pieces.next()
    if (done) return encoder.encode(beginning)
    beginning += value
  }
  let isCancelled = false
  return new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(beginning))
    },
    async pull(controller) {
      try {
        const { done, value } = await pieces.next()
        if (isCancelled) return
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      } catch (error) {
        onError(error)
        controller.error(new Error('The response could not be completed.'))
      }
    },
    async cancel() {
      isCancelled = true
      await pieces.return(undefined)
    },
  })
}
