import { closeSync, fsyncSync, openSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf } from '../../../base/errors.ts'

/** How many files are flushed at once: a disk combines the flushes that wait. */
const maxOpenFiles = 64

/** The error codes of systems that cannot flush a folder, or cannot open a folder of another user. */
const unflushable = ['EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'EBADF']

/** Flushes `folder`, its content, and the entries of its parent folders to the disk. */
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

/** Flushes the list of files in `folder`, if the system can. Windows cannot, and flushes the list with the files. */
export async function flushEntries(folder: string): Promise<void> {
  try {
    await flush(folder, 'r')
  } catch (error) {
    if (!unflushable.includes(codeOf(error))) throw error
  }
}

/** As {@link flushEntries}, before anything else happens. */
export function flushEntriesNow(folder: string): void {
  try {
    const file = openSync(folder, 'r')
    try {
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if (!unflushable.includes(codeOf(error))) throw error
  }
}

/** Windows flushes only files that are open for writing. */
async function flush(path: string, flags: 'r' | 'r+'): Promise<void> {
  const file = await open(path, flags)
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
