import { Deferred } from '../base/deferred.ts'
import { StorageError, type SyncError } from '../base/errors.ts'
import { turnsOf } from '../base/turns.ts'
import type { SnapshotHead } from '../protocol/bootstrap.ts'
import { idleMs } from '../transport/body.ts'
import { countItems, readCut } from '../transport/cut.ts'
import { progressOf, turnMs } from '../transport/cut-snapshot.ts'
import type { SnapshotAnswer, SnapshotFetch, SnapshotRequest } from '../transport/snapshot.ts'
import type { SnapshotPlace } from '../transport/transport.ts'
import { type Conversation, unexpected } from './conversation.ts'
import { revived } from './fault.ts'
import type { ToPage } from './messages.ts'

/** One snapshot, fetched and read through a worker. */
export class WorkerExchange {
  readonly #worker: Conversation
  readonly #request: SnapshotRequest
  readonly #onLost: (error: unknown) => void
  /** Asked for while the worker loads its script. */
  readonly #place: Promise<SnapshotPlace | undefined> | undefined
  /** Settles for all slices alike that the worker said it would store. */
  readonly #stored = new Deferred<void>()
  /** Whether there are any. */
  #stores = false
  /** How many rows came in slices. */
  #rows = 0

  /** Ends the worker with the call. `onLost` is told why it cannot be used any more, if it cannot. */
  constructor(worker: Conversation, request: SnapshotRequest, onLost: (error: unknown) => void) {
    this.#worker = worker
    this.#request = request
    this.#onLost = onLost
    this.#place = request.sink.place?.()
    request.call.signal.addEventListener('abort', () => worker.end())
  }

  /** Asks by the worker; where that gets no answer and `inPage` does, goes on with the page's. */
  async ask(url: string, init: RequestInit, inPage: SnapshotFetch): Promise<SnapshotAnswer> {
    try {
      return await this.#ask(url, init)
    } catch (error) {
      // It may have another policy than the page, or be gone; or there is no network, for neither.
      const answer = await inPage(url, init)
      this.#worker.end()
      this.#onLost(error)
      return answer
    }
  }

  async #ask(url: string, init: RequestInit): Promise<SnapshotAnswer> {
    const place = await this.#place
    // A signal cannot be sent.
    this.#worker.say({ kind: 'ask', url, init: { ...init, signal: null }, place })
    let message = await this.#worker.next()
    for (; message.kind === 'unstored'; message = await this.#worker.next()) await this.#take(message)
    if (message.kind !== 'answer') throw unexpected(message)
    const { ok, status, headers, reason } = message
    return { ok, status, headers: new Headers(headers), reason: async () => reason, read: () => this.#read() }
  }

  async #read(): Promise<SnapshotHead> {
    const { call, clock, sink } = this.#request
    const pauseIfLong = turnsOf(clock, turnMs)
    try {
      for (;;) {
        // What the worker itself waits for, the network or the disk, takes half of this at most.
        const message = await this.#heard(
          call.wait(this.#worker.next(), 2 * idleMs, 'Waiting for the worker'),
        )
        if (message.kind === 'end') {
          sink.progress(progressOf(message.progress, this.#rows))
          this.#stored.resolve()
          return message.head
        }
        await this.#take(message)
        await pauseIfLong()
      }
    } catch (error) {
      this.#stored.reject(new StorageError('aborted', 'The snapshot did not come to its end.'))
      throw error
    }
  }

  async #take(message: ToPage): Promise<void> {
    const { sink } = this.#request
    if (message.kind === 'unstored') this.#unstored(revived(message.fault))
    else if (message.kind === 'progress') sink.progress(progressOf(message.progress, this.#rows))
    else if (message.kind === 'slice') {
      const { text, bytes, cut, key, progress } = message
      sink.progress(progressOf(progress, this.#rows))
      const slice = readCut(text, cut)
      this.#rows += countItems(slice, cut)
      // What is to be stored otherwise than it came, the page stores.
      const elsewhere =
        key !== undefined && slice.text === text ? { key, stored: this.#stored.promise } : undefined
      this.#stores ||= key !== undefined
      await sink.slice({ ...slice, elsewhere })
      this.#worker.say({ kind: 'taken', bytes })
    } else throw unexpected(message)
  }

  #unstored(error: SyncError): void {
    this.#stored.reject(error)
    // It cannot store at all, where the page may. What fails later would have failed for the page, too.
    if (!this.#stores) this.#onLost(error)
  }

  async #heard(next: Promise<ToPage>): Promise<ToPage> {
    try {
      return await next
    } catch (error) {
      if (!this.#request.call.signal.aborted) this.#onLost(error)
      throw error
    }
  }
}
