import { Deferred } from '../../../base/deferred.ts'
import type { Clock } from '../../../base/environment.ts'
import { GroupQueue } from '../group-queue.ts'
import type { Position } from '../log.ts'
import type { Cursor, SqlCursor } from './cursor.ts'
import { SpoolFile } from './spool.ts'

/** An open snapshot. */
export interface OpenSnapshot {
  readonly position: Position
  readonly count: number
  readonly cursor: Cursor
}

/** A snapshot in a file. */
interface SharedSnapshot extends OpenSnapshot {
  readonly file: SpoolFile
}

interface Job {
  readonly caller: string | undefined
  /** Opens the snapshot. Resolves with what keeps a connection. */
  readonly open: () => Promise<SqlCursor>
}

export interface SnapshotsOptions {
  /** Whether the snapshot of `owners` is long, so that it has to wait for its turn. */
  readonly isLong: (owners: readonly string[]) => Promise<boolean>
  readonly open: (owners: readonly string[]) => Promise<OpenSnapshot & { readonly cursor: SqlCursor }>
  /** Whether a snapshot of `owners` at `position` is as good as a new one. */
  readonly isCurrent: (owners: readonly string[], position: Position) => Promise<boolean>
  /** Called when a long snapshot waits: those that are read should give their connections back. */
  readonly onWait: () => void
  /** The number of connections for snapshots. */
  readonly connections: number
  readonly clock: Clock
  /** How long a long snapshot may wait for others, in ms. */
  readonly maxWaitMs: number
}

/**
 * Opens snapshots. Long ones take at most half of the connections, and callers take turns, so that short ones wait for
 * none. If a long one is read already, the next callers with the same owners share another one, in a file.
 */
export class Snapshots {
  readonly #options: SnapshotsOptions
  readonly #turns: GroupQueue<Job, void>
  /** By the owners: the snapshots in files, and those that are read by one caller. */
  readonly #shared = new Map<string, Promise<SharedSnapshot>>()
  readonly #single = new Set<string>()
  readonly #lanes: number
  /** The long snapshots that wait, and how many keep a connection. */
  readonly #waiting = new Set<Job>()
  #running = 0

  constructor(options: SnapshotsOptions) {
    this.#options = options
    this.#lanes = Math.max(1, Math.floor(options.connections / 2))
    this.#turns = new GroupQueue({
      run: (jobs) => Promise.all(jobs.map((job) => this.#run(job))),
      sizeOf: () => 1,
      callerOf: ({ caller }) => caller,
      isOfOne: () => false,
      maxAtOnce: 1,
      lanes: this.#lanes,
      lanesOfCaller: Math.ceil(this.#lanes / 2),
      clock: options.clock,
      maxWaitMs: options.maxWaitMs,
    })
  }

  /** Opens the snapshot of `owners`. Its cursor must be closed, or read to its end. */
  async open(owners: readonly string[], caller: string | undefined): Promise<OpenSnapshot> {
    if (!(await this.#options.isLong(owners))) return this.#options.open(owners)
    const key = JSON.stringify([...owners].sort())
    for (;;) {
      const asked = this.#shared.get(key)
      if (!asked) break
      const shared = await asked.catch(() => undefined)
      const isCurrent = shared?.file.isOpen && (await this.#options.isCurrent(owners, shared.position))
      if (shared && isCurrent && shared.file.isOpen) return { ...shared, cursor: shared.file.read() }
      // Only one of those who found that opens the next one.
      if (this.#shared.get(key) === asked) break
    }
    if (this.#single.has(key)) return this.#openShared(key, owners, caller)
    this.#single.add(key)
    return this.#inTurn(owners, caller, () => this.#single.delete(key))
  }

  #openShared(key: string, owners: readonly string[], caller: string | undefined): Promise<OpenSnapshot> {
    const forget = () => {
      if (this.#shared.get(key) === opening) this.#shared.delete(key)
    }
    const opening = this.#inTurn(owners, caller).then((opened) => {
      const file = new SpoolFile(opened.cursor, forget)
      return { ...opened, file, cursor: file.read() }
    })
    this.#shared.set(key, opening)
    opening.catch(forget)
    return opening
  }

  /** Opens a snapshot when it is the caller's turn. `onEnd`: called once it keeps no connection any more. */
  #inTurn(
    owners: readonly string[],
    caller: string | undefined,
    onEnd: () => void = () => {},
  ): Promise<OpenSnapshot & { readonly cursor: SqlCursor }> {
    const opened = new Deferred<OpenSnapshot & { readonly cursor: SqlCursor }>()
    const open = async () => {
      const snapshot = await this.#options.open(owners)
      opened.resolve(snapshot)
      return snapshot.cursor
    }
    const job = { caller, open }
    this.#waiting.add(job)
    if (this.#running >= this.#lanes) this.#options.onWait()
    const end = () => {
      this.#waiting.delete(job)
      onEnd()
    }
    this.#turns.do(job).catch(opened.reject).finally(end)
    return opened.promise
  }

  /** Keeps the turn as long as the snapshot keeps its connection. */
  async #run(job: Job): Promise<void> {
    this.#waiting.delete(job)
    this.#running += 1
    try {
      const cursor = await job.open()
      if (this.#waiting.size > 0) this.#options.onWait()
      await cursor.ended
    } finally {
      this.#running -= 1
    }
  }
}
