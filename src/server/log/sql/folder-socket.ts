import { once } from 'node:events'
import { closeSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import type { Unsubscribe } from '../../../base/emitter.ts'
import { codeOf } from '../../../base/errors.ts'

/*
 * A process that listens in a folder is known to run by every other on the same system, whatever container it is in: the
 * system answers for it even while it is busy, and for none that has ended. Only Linux has a name for a folder that is
 * short enough; elsewhere, and on a disk that takes no sockets, nobody listens.
 */

const pattern = /^lock-(.+)\.socket$/

export interface FolderSocket {
  /** The disk, as this system calls it. Reached by another way, it may have sockets of its own. */
  readonly disk: number
  /** Takes the socket away. */
  readonly close: Unsubscribe
}

/** Listens in `folder` as `id`, and keeps no process running; `undefined` where no socket can be had. */
export async function listenIn(folder: string, id: string): Promise<FolderSocket | undefined> {
  const [name, path] = [`lock-${id}.new`, socketOf(folder, id)]
  const server = createServer((socket) => socket.destroy())
  server.unref()
  try {
    await nearby(folder, async (short) => {
      // The primary of a cluster would listen for it otherwise, and outlive it.
      server.listen({ path: `${short}/${name}`, exclusive: true, readableAll: true, writableAll: true })
      await once(server, 'listening')
    })
    // It appears once it answers: what is there and does not answer has ended.
    renameSync(join(folder, name), path)
  } catch {
    server.close()
    rmSync(join(folder, name), { force: true })
    return undefined
  }
  // Whoever could not be accepted knows as much as one that was.
  server.on('error', () => {})
  const close = () => {
    rmSync(path, { force: true })
    server.close()
  }
  return { disk: statSync(folder).dev, close }
}

/** Those who listen in `folder`, by id. */
export async function listenersIn(folder: string): Promise<readonly string[]> {
  const ids = readdirSync(folder).flatMap((name) => pattern.exec(name)?.[1] ?? [])
  const running = await Promise.all(ids.map((id) => answers(folder, id)))
  return ids.filter((_, index) => running[index])
}

export function socketOf(folder: string, id: string): string {
  return join(folder, `lock-${id}.socket`)
}

async function answers(folder: string, id: string): Promise<boolean> {
  return nearby(folder, async (short) => {
    const socket = connect(`${short}/lock-${id}.socket`)
    try {
      await once(socket, 'connect')
      return true
    } catch (error) {
      // Any other code, as of one that may not be asked or has too many to answer, is that of one that runs.
      return !['ECONNREFUSED', 'ENOENT'].includes(codeOf(error))
    } finally {
      socket.destroy()
    }
  })
}

/** Calls with a name of `folder` as long as any: the address of a socket ends after 107 bytes. */
async function nearby<Result>(folder: string, use: (short: string) => Promise<Result>): Promise<Result> {
  const descriptor = openSync(folder, 'r')
  try {
    return await use(`/proc/self/fd/${descriptor}`)
  } finally {
    closeSync(descriptor)
  }
}
