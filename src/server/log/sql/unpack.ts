import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const blockBytes = 512

/**
 * Byte ranges in the header of an archive (POSIX.1-1988, "ustar"). Strings end with a zero byte, numbers are in octal
 * digits.
 */
const fields = { name: [0, 100], size: [124, 136], type: [156, 157] } as const

/**
 * Creates `folder` with the content of the archive `tar`. Supports folders, and files with names of up to 100
 * characters, which is all that a database of PGlite has. PGlite can unpack an archive itself, but takes 2 s longer.
 */
export async function unpack(tar: Buffer, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const text = (at: number, [from, to]: readonly [number, number]) => {
    const [first = ''] = tar.toString('latin1', at + from, at + to).split('\0')
    return first
  }
  let at = 0
  while (tar[at]) {
    const size = Number.parseInt(text(at, fields.size), 8)
    const path = join(folder, text(at, fields.name))
    const content = at + blockBytes
    if (text(at, fields.type) === '5') await mkdir(path, { recursive: true, mode: 0o700 })
    else await writeFile(path, tar.subarray(content, content + size), { mode: 0o600 })
    at = content + Math.ceil(size / blockBytes) * blockBytes
  }
}
