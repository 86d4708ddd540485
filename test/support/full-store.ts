import { StorageError } from '../../src/base/errors.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import { withSteps } from './store-steps.ts'

/** A store in which nothing can be put while it is full. Removing the pages makes room. */
export class FullStore {
  full = false
  readonly store: Store

  constructor(inner = memoryStore()) {
    this.store = withSteps(inner, {
      awaited: () => undefined,
      immediate: ({ name, table }) => {
        if (name === 'put' && this.full) throw new StorageError('quota', 'The disk is full.')
        if (name === 'delete' && table === 'pages') this.full = false
      },
    })
  }
}
