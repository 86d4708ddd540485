import type { SyncClientOptions } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { inWorkers, type Store } from '../../src/storage/store.ts'
import { snapshotWorker } from '../../src/worker/index.ts'
import type { BareServerOptions } from './bare-server.ts'
import { Device } from './device.ts'
import { FakeWorker, type FakeWorkerOptions } from './fake-worker.ts'

/** A store in memory that a worker reaches, too. */
export function sharedStore(inner: Store = memoryStore()): Store {
  return inWorkers({ ...inner })
}

/** A device whose clients read snapshots in a worker. */
export class WorkerDevice extends Device {
  /** All that were made, in order. */
  readonly workers: FakeWorker[] = []
  /** What the clients warned of: that a worker cannot be used. */
  readonly warnings: string[] = []
  /** What the worker's own connection to the store is. @default the device's store */
  workerStore: Store
  edit: FakeWorkerOptions['edit']

  constructor({ store = sharedStore(), ...options }: BareServerOptions & { readonly store?: Store } = {}) {
    super({ store, push: 'none', ...options })
    this.workerStore = store
  }

  /** The options of a client with a worker. */
  get options(): Partial<SyncClientOptions> {
    const warn = (message: string, details?: object) => {
      const { error } = (details ?? {}) as { readonly error?: Error }
      if (message.includes('worker')) this.warnings.push(`${message} ${error?.message}`)
    }
    return {
      worker: snapshotWorker(() => this.make()),
      logger: { debug() {}, info() {}, warn, error: (message) => this.log.push(`log ${message}`) },
    }
  }

  get worker(): FakeWorker {
    const last = this.workers.at(-1)
    if (!last) throw new Error('No worker was made.')
    return last
  }

  make(): FakeWorker {
    const worker = new FakeWorker({
      world: this.world,
      store: this.workerStore,
      ...(this.edit && { edit: this.edit }),
    })
    this.workers.push(worker)
    return worker
  }
}

/** Writes `count` records of about 4 kB. */
export function fill(device: Device, count: number): void {
  const text = 'x'.repeat(4_000)
  const ops = Array.from(
    { length: count },
    (_, n) => ({ op: 'i', t: 'Issue', id: `${n}`, p: { n, text } }) as const,
  )
  device.server.write('ada', ops)
}
