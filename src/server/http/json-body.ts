import { separator } from '../log/separator.ts'

/** An answer shorter than this is sent whole, with its length. */
const smallChars = 1_024

/** The bytes of JSON text, whole where they are few. */
export type JsonBody = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>

/** The text of `{…head, [list]: […items]}`, in pieces: `batches` are items as JSON, joined by {@link separator}. */
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
 * The body that `pieces` make. The first of them are awaited, so that what fails at once can still be an error's
 * answer. A longer one is made as it is read, and is broken off where `pieces` fail.
 */
export async function bodyOf(
  pieces: AsyncGenerator<string>,
  onError: (error: unknown) => void,
): Promise<JsonBody> {
  const encoder = new TextEncoder()
  let begun = ''
  while (begun.length < smallChars) {
    const { done, value } = await pieces.next()
    if (done) return encoder.encode(begun)
    begun += value
  }
  let isLeft = false
  return new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(begun))
    },
    async pull(controller) {
      try {
        const { done, value } = await pieces.next()
        if (isLeft) return
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      } catch (error) {
        onError(error)
        controller.error(new Error('The answer could not be read to its end.'))
      }
    },
    async cancel() {
      isLeft = true
      await pieces.return(undefined)
    },
  })
}
