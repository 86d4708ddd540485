import { existsSync, renameSync } from 'node:fs'
import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, NetworkError, toError } from '../../../base/errors.ts'
import { flushEntriesNow } from './flush.ts'

/** The length of a segment of PostgreSQL's log of changes, in bytes. */
const segmentBytes = 16 * 1_048_576

/** With less room than this in existing segments, the next one is made, and no write begins. In bytes. */
const wantedBytes = 1.5 * segmentBytes
const neededBytes = segmentBytes / 2

/** The room that a new segment leaves on the disk, in bytes. */
const spareBytes = 1_048_576

/** After this number of segments, the database stores its pages, and uses the earlier segments again. */
const segmentsAtOnce = 4

/**
 * Keeps room in the log of changes (`pg_wal`) of a PGlite, whose PostgreSQL cannot go on if that log cannot grow: makes
 * its next segment in time, as PostgreSQL would at a checkpoint.
 */
export class WalRoom {
  readonly #folder: string
  /** The segment that is written, and up to which place. */
  #segment = ''
  #end = 0
  /** The number of the segment that was written at the last checkpoint. */
  #checkpoint: number | undefined
  #making: Promise<void> | undefined
  #isClosed = false

  /** `folder`: `pg_wal`. */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** PostgreSQL has written a file of the folder, up to `end`. */
  wrote(name: string, end: number): void {
    if (!/^[0-9A-F]{24}$/.test(name)) return
    this.#segment = name
    this.#end = end
  }

  /**
   * Call it before a write. `checkpoint` makes the database store its pages. Rejects with a NetworkError if there is no
   * room.
   */
  async prepare(checkpoint: () => Promise<unknown>): Promise<void> {
    if (this.#segment === '') return
    const number = numberOf(this.#segment)
    this.#checkpoint ??= number
    const left = this.#left
    if (left < wantedBytes) this.#makeOne()
    if (left < neededBytes) await this.#making
    if (number - this.#checkpoint < segmentsAtOnce) return
    this.#checkpoint = number
    // Without it, the log of changes only becomes longer.
    await checkpoint().catch(() => {})
  }

  /** Resolves once nothing is written to the folder any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#making?.catch(() => {})
  }

  /** The bytes that fit into the segments that exist. */
  get #left(): number {
    let next = this.#segment
    let left = segmentBytes - this.#end
    while (left < wantedBytes) {
      next = after(next)
      if (!existsSync(join(this.#folder, next))) break
      left += segmentBytes
    }
    return left
  }

  #makeOne(): void {
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined
    })
    // Only a write that needs the room fails.
    this.#making.catch(() => {})
  }

  async #make(): Promise<void> {
    const { bavail, bsize } = await statfs(this.#folder)
    // A file that does not fit would take the room from everything else before it fails.
    if (bavail * bsize < segmentBytes + spareBytes) throw noRoom(fullDisk)
    // PostgreSQL removes files of such names when it starts.
    const path = join(this.#folder, 'xlogtemp.instep')
    try {
      await writeFile(path, new Uint8Array(segmentBytes), { flush: true })
    } catch (cause) {
      await rm(path, { force: true })
      throw noRoom(cause)
    }
    let name = after(this.#segment)
    while (existsSync(join(this.#folder, name))) name = after(name)
    // At once, so that PostgreSQL makes no file of this name meanwhile; and durable before PostgreSQL uses it.
    if (!this.#isClosed) renameSync(path, join(this.#folder, name))
    flushEntriesNow(this.#folder)
  }
}

/** The number of a segment, and the name of the next one: the timeline, and two parts of the number, in hex. */
const numberOf = (name: string) =>
  Number.parseInt(name.slice(8, 16), 16) * 256 + Number.parseInt(name.slice(16), 16)

function after(name: string): string {
  const next = numberOf(name) + 1
  const hex = (part: number) => part.toString(16).toUpperCase().padStart(8, '0')
  return `${name.slice(0, 8)}${hex(Math.floor(next / 256))}${hex(next % 256)}`
}

const fullDisk = Object.assign(new Error('the disk has no room'), { code: 'ENOSPC' })

/** The NetworkError for a segment that cannot be made, with the SQLSTATE that PostgreSQL has for it. */
function noRoom(error: unknown): NetworkError {
  const code = ['ENOSPC', 'EDQUOT'].includes(codeOf(error)) ? '53100' : '58030'
  const message = `A file of the database cannot be made: ${toError(error).message}`
  return new NetworkError('unreachable', message, { cause: Object.assign(new Error(message), { code }) })
}
