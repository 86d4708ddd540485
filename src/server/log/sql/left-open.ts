import { readFileSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The position of the state in PostgreSQL's control file, and the state after a clean shutdown (pg_control.h). */
const stateAt = 16
const shutDown = 1

/**
 * Whether the database in `folder` was open when the machine stopped: its disk may have lost data that it reported as
 * flushed. A killed process loses nothing, since the system keeps what the process wrote. If the system has no boot id,
 * any database without a clean shutdown counts.
 */
export async function isLeftOpen(folder: string): Promise<boolean> {
  const control = await readFile(join(folder, 'pgdata', 'global', 'pg_control'))
  if (control.readInt32LE(stateAt) === shutDown) return false
  const marked = await readFile(bootIn(folder), 'utf8').catch(() => '')
  return marked === '' || marked !== bootId()
}

/** Stores the boot id of the machine in `folder` while its database is open. */
export async function markOpen(folder: string): Promise<void> {
  await writeFile(bootIn(folder), bootId())
}

/** Removes the stored boot id, once the database is closed. */
export async function markClosed(folder: string): Promise<void> {
  await rm(bootIn(folder), { force: true })
}

function bootIn(folder: string): string {
  return join(folder, 'boot')
}

/** An id that changes whenever the machine starts; empty if the system has none. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}
