import { Deferred } from '../base/deferred.ts'
import { StorageError } from '../base/errors.ts'
import type { SnapshotHead } from '../protocol/bootstrap.ts'
import { textOf } from '../transport/byte-buffer.ts'
import type { Call } from '../transport/call.ts'
import { readCut } from '../transport/cut.ts'
import { type SnapshotSource, turnsOf } from '../transport/cut-snapshot.ts'
import type { SnapshotReader } from '../transport/snapshot.ts'
import type { SnapshotSink } from '../transport/transport.ts'
import type { Conversation } from './conversation.ts'
import { errorOf, type ToPage, unexpected } from './messages.ts'

/** Reads one snapshot through a worker that is ready. */
export class WorkerReader implements SnapshotReader {
  readonly #worker: Conversation
  readonly #call: Call
  readonly #onLost: (error: unknown) => void

  /** `onLost` is told when the worker says nothing any more. */
  constructor(worker: Conversation, call: Call, onLost: (error: unknown) => void) {
    this.#worker = worker
    this.#call = call
    this.#onLost = onLost
  }

  async fetch(url: string, init: RequestInit): Promise<Response> {
    // A signal cannot be sent; the worker ends with the call.
    this.#worker.say({ kind: 'fetch', url, init: { ...init, signal: null } })
    const message = await this.#heard(this.#worker.next())
    if (message.kind !== 'answer') throw unexpected(message)
    const { status, headers, text } = message
    if (status === 0) return Response.error()
    return new Response(text || null, { status, headers })
  }

  async read({ clock, idleMs, maxRowBytes }: SnapshotSource, sink: SnapshotSink): Promise<SnapshotHead> {
    const stored = new Deferred<void>()
    const pauseIfLong = turnsOf(clock)
    this.#worker.say({ kind: 'read', idleMs, maxRowBytes, place: await sink.place?.() })
    try {
      for (;;) {
        // What the worker itself waits for, the network or the disk, takes half of this at most.
        const next = this.#call.wait(this.#worker.next(), 2 * idleMs, 'Waiting for the worker')
        const message = await this.#heard(next)
        if (message.kind === 'end') {
          sink.progress(message.progress)
          stored.resolve()
          return message.head
        }
        await this.#take(message, sink, stored)
        await pauseIfLong()
      }
    } catch (error) {
      stored.reject(new StorageError('aborted', 'The snapshot did not come to its end.'))
      throw error
    }
  }

  async #take(message: ToPage, sink: SnapshotSink, stored: Deferred<void>): Promise<void> {
    if (message.kind === 'progress') sink.progress(message.progress)
    else if (message.kind === 'unstored') stored.reject(errorOf(message.fault))
    else if (message.kind === 'slice') {
      const text = textOf(message.bytes)
      const slice = readCut(text, message.cut)
      const { key } = message
      // What is to be stored otherwise than it came, the page stores.
      const isStored = key !== undefined && slice.text === text
      await sink.slice(isStored ? { ...slice, elsewhere: { key, stored: stored.promise } } : slice)
      this.#worker.say({ kind: 'taken' })
    } else throw unexpected(message)
  }

  async #heard(next: Promise<ToPage>): Promise<ToPage> {
    try {
      return await next
    } catch (error) {
      if (!this.#call.signal.aborted) this.#onLost(error)
      throw error
    }
  }
}
