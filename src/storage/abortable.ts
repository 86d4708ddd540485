import { StorageError } from '../base/errors.ts'
import { onAbort } from '../base/on-abort.ts'

/**
 * Settles as `work` does, but rejects with a StorageError of code `aborted` as soon as `signal` aborts. The promise
 * `aborted` rejects with the same error.
 */
export async function abortable<T>(
  signal: AbortSignal | undefined,
  work: (aborted: Promise<never>) => Promise<T>,
): Promise<T> {
  let stopListening = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stopListening = onAbort(signal, () => {
      reject(new StorageError('aborted', 'The transaction was aborted by its signal.'))
    })
  })
  return Promise.race([aborted, work(aborted)]).finally(stopListening)
}
