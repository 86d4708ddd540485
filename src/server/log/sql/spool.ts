import { randomUUID } from 'node:crypto'
import { open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cursor } from './read.ts'

/** What `cursor` still has to give, copied to a temporary file, so that the database is free again at once. */
export async function spool(cursor: Cursor): Promise<Cursor> {
  const path = join(tmpdir(), `instep-${randomUUID()}.spool`)
  const file = await open(path, 'wx+', 0o600)
  const lengths: number[] = []
  try {
    // Nobody else needs its name, and without one it goes with the process.
    await unlink(path)
    for (let batch = await cursor.next(); batch !== ''; batch = await cursor.next()) {
      const bytes = Buffer.from(batch)
      await file.appendFile(bytes)
      lengths.push(bytes.length)
    }
  } catch (error) {
    await file.close()
    throw error
  } finally {
    await cursor.close()
  }
  let isOpen = true
  let offset = 0
  const close = async () => {
    if (isOpen) await file.close()
    isOpen = false
  }
  return {
    close,
    async next() {
      const length = lengths.shift() ?? 0
      if (length === 0) {
        await close()
        return ''
      }
      const { buffer } = await file.read(Buffer.alloc(length), 0, length, offset)
      offset += length
      return buffer.toString()
    },
  }
}
