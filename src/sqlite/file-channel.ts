import type { BroadcastChannelConstructor, BroadcastChannelLike, Environment } from '../base/environment.ts'
import { randomName } from '../base/ids.ts'
import { isWithin } from '../base/is-within.ts'
import { isObject } from '../protocol/json.ts'
import type { ClientsFile } from './clients-file.ts'

/** The time for which a message is kept, in ms. A process that is suspended for longer misses the message. */
const keepMs = 60_000

/**
 * Channels among all clients that have the same file, also across processes. A message may be lost; clients notice
 * that.
 */
export function fileChannel(
  file: ClientsFile,
  { clock, random }: Pick<Environment, 'clock' | 'random'>,
): BroadcastChannelConstructor {
  let cleanedAt = Number.NEGATIVE_INFINITY

  const clean = () => {
    if (isWithin(clock, cleanedAt, keepMs)) return
    cleanedAt = clock.now()
    file.run('DELETE FROM message WHERE at NOT BETWEEN ? AND ?', cleanedAt - keepMs, cleanedAt + keepMs)
  }

  return class FileChannel implements BroadcastChannelLike {
    onmessage: BroadcastChannelLike['onmessage'] = null
    readonly #name: string
    readonly #id = randomName(random)
    readonly #unwatch
    #isClosed = false
    /**
     * The number of the last message that was received, or sent before the channel opened; `undefined` until the file
     * can be read.
     */
    #last: number | undefined

    constructor(name: string) {
      this.#name = name
      this.#unwatch = file.watch(() => this.#poll())
      orLose(() => this.#poll())
    }

    postMessage(message: unknown): void {
      // Leave out the token: tokens are never written to the disk.
      const value = JSON.stringify(isObject(message) ? { ...message, token: undefined } : message)
      orLose(() => {
        clean()
        const sql = 'INSERT INTO message (at, channel, sender, value) VALUES (?, ?, ?, ?)'
        file.run(sql, clock.now(), this.#name, this.#id, value)
      })
    }

    close(): void {
      this.#isClosed = true
      this.#unwatch()
    }

    #poll(): void {
      if (this.#last === undefined) {
        const [row] = file.rows('SELECT max(n) AS last FROM message')
        this.#last = Number(row?.last ?? 0)
      }
      const sql = 'SELECT n, value FROM message WHERE n > ? AND channel = ? AND sender <> ? ORDER BY n'
      for (const { n, value } of file.rows(sql, this.#last, this.#name, this.#id)) {
        if (this.#isClosed) return
        this.#last = Number(n)
        this.onmessage?.({ data: JSON.parse(String(value)) })
      }
    }
  }
}

function orLose(call: () => void): void {
  try {
    call()
  } catch {}
}
