import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'

/**
 * An empty database as an archive, as the build of this package has made it: making one takes PGlite seconds. `undefined` where it is
 * not there, as in a bundle.
 */
export async function shippedSeed(): Promise<Buffer | undefined> {
  try {
    const manifest = createRequire(import.meta.url).resolve('instep/package.json')
    const packed = await readFile(join(dirname(manifest), 'dist/pglite-seed.tar.br'))
    return await promisify(brotliDecompress)(packed)
  } catch {
    return undefined
  }
}
