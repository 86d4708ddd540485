import { StorageError } from '../base/errors.ts'
import { onAbort } from '../base/on-abort.ts'

/**
 * Settles as `work` does, or rejects with a StorageError of code `aborted` as soon as `signal` is aborted; so does the
 * promise that `work` is given.
 */
export async function abortable<T>(
  signal: AbortSignal | undefined,
  work: (aborted: Promise<never>) => Promise<T>,
): Promise<T> {
  let forget = () => {}
  const aborted = new Promise<never>((_, reject) => {
    forget = onAbort(signal, () => {
      reject(new StorageError('aborted', 'The transaction was aborted by its signal.'))
    })
  })
  return Promise.race([aborted, work(aborted)]).finally(forget)
}
