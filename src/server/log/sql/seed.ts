import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'

/**
 * An archive of a database with empty tables of Instep. The build makes it, since PGlite takes seconds to create a
 * database. `undefined` if the file is missing, as in a bundle.
 */
export async function shippedSeed(): Promise<Buffer | undefined> {
  try {
    const manifest = createRequire(import.meta.url).resolve('instep/package.json')
    const packed = await readFile(join(dirname(manifest), 'dist/pglite-tables.tar.br'))
    return await promisify(brotliDecompress)(packed)
  } catch {
    return undefined
  }
}
