import { StorageError } from '../../src/base/errors.ts'
import { model, type StandardSchema, type SyncClientOptions } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { Device } from './device.ts'
import { readsPages, watching } from './watching-store.ts'

/** Takes any record, but one that says that it is bad. */
export const schema: StandardSchema<{ [field: string]: unknown }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      Object(value).bad ? { issues: [{ message: 'It is bad' }] } : { value: Object(value) },
  },
}

export const models = { Issue: model(schema, { load: 'lazy' }), Note: model(schema, { load: 'lazy' }) }

/** A device with a lazy issue on its disk, and a client that has begun again from there. */
export async function restarted(options: Partial<SyncClientOptions> = {}, device = new Device()) {
  device.insert('1', { title: 'Milk' })
  await device.live({ models })
  const client = await device.restart({ models, ...options })
  return { device, client }
}

/** A disk of which so many of the next reads of the data fail, and of which they wait for `read`. */
export function unreliable() {
  const disk = {
    failing: 0,
    reads: 0,
    read: (): Promise<void> | undefined => undefined,
    store: watching(memoryStore(), async (options) => {
      if (!readsPages(options)) return
      disk.reads += 1
      await disk.read()
      disk.failing -= 1
      if (disk.failing >= 0) throw new StorageError('timeout', 'The disk is slow.')
    }),
  }
  return disk
}
