import type { Environment, Locks } from '../base/environment.ts'
import { randomName } from '../base/ids.ts'
import { isWithin } from '../base/is-within.ts'
import { onAbort } from '../base/on-abort.ts'
import type { ClientsFile } from './clients-file.ts'

/** A lock that its holder has not renewed for this long is free, in ms. */
const holdMs = 10_000
const renewMs = 5_000

/**
 * Locks among all clients that have the same file, also across processes. A lock is a row: its holder, and the time at
 * which the holder last renewed it.
 */
export function fileLocks(
  file: ClientsFile,
  { clock, random }: Pick<Environment, 'clock' | 'random'>,
): Locks {
  /** Takes the lock if it is free, or in any case with `steal`. Returns whether `holder` has it. */
  const take = (name: string, holder: string, steal: boolean) => {
    const now = clock.now()
    const [row] = file.rows('SELECT at FROM lock WHERE name = ?', name)
    if (row && !steal && isWithin(clock, Number(row.at), holdMs)) return false
    // Another process may take it at the same time.
    file.run(
      `INSERT INTO lock VALUES (?, ?, ?) ON CONFLICT (name)
        DO UPDATE SET holder = excluded.holder, at = excluded.at WHERE ? OR abs(lock.at - excluded.at) >= ?`,
      ...[name, holder, now],
      ...[steal ? 1 : 0, holdMs],
    )
    return renew(name, holder)
  }

  /** Returns whether `holder` still has the lock. */
  const renew = (name: string, holder: string) => {
    const [row] = file.rows('SELECT at FROM lock WHERE name = ? AND holder = ?', name, holder)
    if (row && !isWithin(clock, Number(row.at), renewMs)) {
      file.run('UPDATE lock SET at = ? WHERE name = ? AND holder = ?', clock.now(), name, holder)
    }
    return row !== undefined
  }

  const release = (name: string, holder: string) => {
    try {
      file.run('DELETE FROM lock WHERE name = ? AND holder = ?', name, holder)
    } catch {
      // The lock is not renewed any more, so it becomes free by itself.
    }
  }

  return {
    request: (name, { ifAvailable = false, steal = false, signal }, body) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted()
        const holder = randomName(random)
        let isHeld = false
        const poll = () => {
          if (isHeld) {
            isHeld = renew(name, holder)
            if (isHeld) return
            end()
            reject(new Error('Another client has taken the lock.'))
          } else if (take(name, holder, steal)) {
            isHeld = true
            const over = () => {
              if (isHeld) release(name, holder)
              end()
            }
            body({ name }).finally(over).then(resolve, reject)
          }
        }
        const unwatch = file.watch(poll)
        const unlisten = onAbort(signal, () => {
          if (isHeld) return
          end()
          reject(signal?.reason)
        })
        const end = () => {
          unwatch()
          unlisten()
        }
        try {
          poll()
        } catch (error) {
          end()
          reject(error)
          return
        }
        if (isHeld || !ifAvailable) return
        end()
        body(null).then(resolve, reject)
      }),
  }
}
