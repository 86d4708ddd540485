import type { Store } from '../../src/storage/store.ts'

/** `shared` of a store whose databases belong to one origin of a browser. */
export const perOrigin: NonNullable<Store['shared']> = (_, environment) => environment
