import { NetworkError, SyncError } from '../base/errors.ts'
import { revived } from './fault.ts'
import type { ToPage, ToWorker } from './messages.ts'

/** A worker, as far as it is used here. */
export interface WorkerLike {
  postMessage(message: unknown): void
  terminate(): void
  onmessage: ((event: MessageEvent<unknown>) => void) | null
  onerror: ((event: ErrorEvent) => void) | null
  onmessageerror: ((event: MessageEvent<unknown>) => void) | null
}

/** What a worker says, to be asked for one message at a time. */
export class Conversation {
  readonly #worker: WorkerLike
  readonly #heard: ToPage[] = []
  #failure: NetworkError | undefined
  #onNews = () => {}

  constructor(worker: WorkerLike) {
    this.#worker = worker
    worker.onmessage = ({ data }) => {
      // It has said, or is about to say, that it speaks this version.
      if (!this.#failure) this.#heard.push(data as ToPage)
      this.#onNews()
    }
    const fail = (event: object) => {
      const reason = 'message' in event && typeof event.message === 'string' ? event.message : ''
      const advice = reason || 'its script cannot be loaded, or may not run here'
      this.#failure ??= new NetworkError('unreachable', `The worker failed: ${advice}.`)
      this.#onNews()
    }
    worker.onerror = fail
    worker.onmessageerror = fail
  }

  say(message: ToWorker): void {
    this.#worker.postMessage(message)
  }

  /** The next message, whatever it is. Rejects where the worker has failed before it said another. */
  async next(): Promise<ToPage> {
    for (;;) {
      const message = this.#heard.shift()
      if (message) return message
      if (this.#failure) throw this.#failure
      await new Promise<void>((resolve) => {
        this.#onNews = resolve
      })
    }
  }

  /** Ends the worker. */
  end(): void {
    this.#worker.terminate()
  }
}

/** The error that a worker tells; or that it says what is not to be said now, as one of another version may. */
export function unexpected(message: ToPage): SyncError {
  if (message.kind === 'failed') return revived(message.fault)
  const advice = 'build both together'
  return new SyncError(
    'SyncError',
    'unexpected',
    `The worker is of another version than the page: ${advice}.`,
  )
}
