import { randomUUID } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Unsubscribe } from '../../../base/emitter.ts'
import type { Clock } from '../../../base/environment.ts'
import { ConfigurationError, codeOf, toError } from '../../../base/errors.ts'
import { listenersIn, listenIn } from './folder-socket.ts'

/** How often, in ms, and how many times to look for other processes that want the folder. */
const pollMs = 20
const maxPolls = 50

/** The codes of errors that are not about sockets: no file could be created in the folder, either. */
const notSockets: ReadonlySet<string> = new Set(['ENOTDIR', 'ENOSPC'])

/**
 * Takes `folder` for this process until the returned function is called or the process ends. Creates the folder if
 * necessary. Rejects with a ConfigurationError if a running process, including this one, has the folder.
 */
export async function lockFolder(folder: string, clock: Clock): Promise<Unsubscribe> {
  makeFolder(folder)
  // Throws an error whose code says why the folder cannot be written.
  accessSync(folder, constants.W_OK)
  // Ids ascend with time, so the owner of the folder usually has a lower id than a process that wants it.
  const id = `${clock.now()}-${randomUUID().slice(0, 8)}`
  const close = await listenIn(folder, id).catch((error) => {
    const code = codeOf(error) ?? ''
    if (code === 'EADDRINUSE') throw inUse(folder)
    throw notSockets.has(code) ? error : withoutSockets(folder, error)
  })
  try {
    await waitUntilAlone(folder, id, clock)
    return close
  } catch (error) {
    close()
    throw error
  }
}

/**
 * Waits until no other process listens in the folder. Each process listens before it looks, so of two processes, at
 * least one sees the other. If several processes start at once, the one with the lowest id waits until the others give
 * up.
 */
async function waitUntilAlone(folder: string, ownId: string, clock: Clock): Promise<void> {
  for (let poll = 1; ; poll += 1) {
    const others = (await listenersIn(folder)).filter((id) => id !== ownId)
    if (others.length === 0) return
    if (poll === maxPolls || others.some((id) => id < ownId)) throw inUse(folder)
    await new Promise<void>((resolve) => clock.after(pollMs, resolve))
  }
}

/**
 * Creates `path` and its parents. The `recursive` option of Node never returns for some folders, such as those in
 * `/proc`.
 */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  const above = dirname(folder)
  if (above !== folder) makeFolder(above)
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have created the folder in between.
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

function inUse(folder: string): ConfigurationError {
  const advice = 'stop that process, or use PostgreSQL for several processes'
  return new ConfigurationError('database', `The folder ${folder} is in use by another process; ${advice}.`)
}

function withoutSockets(folder: string, cause: unknown): ConfigurationError {
  const reason = toError(cause).message
  const advice = 'use a folder on a disk that can hold sockets'
  const message = `The folder ${folder} cannot be guarded against a second process (${reason}); ${advice}.`
  return new ConfigurationError('database', message, { cause })
}
