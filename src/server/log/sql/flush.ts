import { open, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf } from '../../../base/errors.ts'

/** How many files are flushed at once: a disk writes those that wait for it together. */
const maxOpenFiles = 64

/** What a system says that can flush no folder, or lets nobody open one that belongs to another user. */
const unflushable = ['EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'EBADF']

/** Flushes `folder`, all that is in it, and the entries of the folders above it, to the disk. */
export async function flushTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true })
  const files = entries.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []))
  for (let from = 0; from < files.length; from += maxOpenFiles) {
    await Promise.all(files.slice(from, from + maxOpenFiles).map((file) => flush(file, 'r+')))
  }
  for (const entry of entries) if (entry.isDirectory()) await flushEntries(join(entry.parentPath, entry.name))
  await flushEntries(folder)
  for (let child = folder; dirname(child) !== child; child = dirname(child))
    await flushEntries(dirname(child))
}

/** Flushes which files `folder` holds, if the system can: Windows cannot, and does so with the files themselves. */
export async function flushEntries(folder: string): Promise<void> {
  try {
    await flush(folder, 'r')
  } catch (error) {
    if (!unflushable.includes(codeOf(error))) throw error
  }
}

/** Windows flushes only what is open for writing. */
async function flush(path: string, flags: 'r' | 'r+'): Promise<void> {
  const file = await open(path, flags)
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
