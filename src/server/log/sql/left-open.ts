import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bootId } from './folder-lock.ts'

/** Where PostgreSQL's control file has the state of a database, and the state after an orderly end (pg_control.h). */
const stateAt = 16
const shutDown = 1

/**
 * Whether the database in `folder` was left open by a machine, or by a start of this one, that has ended since: its
 * disk may have lost what it said that it had flushed. A process that was killed loses nothing, since the system keeps
 * what it wrote. Where a system has no name for its start, each that was left open counts.
 */
export async function isLeftOpen(folder: string): Promise<boolean> {
  const control = await readFile(join(folder, 'pgdata', 'global', 'pg_control'))
  if (control.readInt32LE(stateAt) === shutDown) return false
  const marked = await readFile(bootIn(folder), 'utf8').catch(() => '')
  return marked === '' || marked !== bootId()
}

/** Says in `folder` under which start of the machine its database is open. */
export async function markOpen(folder: string): Promise<void> {
  await writeFile(bootIn(folder), bootId())
}

/** Takes that back once the database is closed. */
export async function markClosed(folder: string): Promise<void> {
  await rm(bootIn(folder), { force: true })
}

function bootIn(folder: string): string {
  return join(folder, 'boot')
}
