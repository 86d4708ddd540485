import { once } from 'node:events'
import { closeSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import type { Unsubscribe } from '../../../base/emitter.ts'
import { codeOf } from '../../../base/errors.ts'

/*
 * A process shows that it is running by listening on a socket in the folder. Every process on the same system can check
 * this, also from another container: the system accepts connections even while the process is busy, and refuses them
 * once the process has ended. Only Linux offers a path to the folder that is short enough for the address of a socket.
 * On other systems, and on disks without sockets, no process listens.
 */

const pattern = /^lock-(.+)\.socket$/

export interface FolderSocket {
  /** The device id of the disk, as this system sees it. Another mount of the same disk may have separate sockets. */
  readonly disk: number
  /** Stops listening and deletes the socket. */
  readonly close: Unsubscribe
}

/**
 * Listens in `folder` as `id`, without keeping the process alive. Resolves with `undefined` if no socket can be
 * created.
 */
export async function listenIn(folder: string, id: string): Promise<FolderSocket | undefined> {
  const [name, path] = [`lock-${id}.new`, socketOf(folder, id)]
  const server = createServer((socket) => socket.destroy())
  server.unref()
  try {
    await withShortPath(folder, async (shortPath) => {
      // Otherwise the primary process of a cluster would listen instead, and would outlive this process.
      server.listen({ path: `${shortPath}/${name}`, exclusive: true, readableAll: true, writableAll: true })
      await once(server, 'listening')
    })
    // The socket gets its name once it accepts connections. So a socket that refuses connections belongs to a process
    // that has ended.
    renameSync(join(folder, name), path)
  } catch {
    server.close()
    rmSync(join(folder, name), { force: true })
    return undefined
  }
  // A process that connects learns the same from a failed connection.
  server.on('error', () => {})
  const close = () => {
    rmSync(path, { force: true })
    server.close()
  }
  return { disk: statSync(folder).dev, close }
}

/** The ids of the processes that listen in `folder`. */
export async function listenersIn(folder: string): Promise<readonly string[]> {
  const ids = readdirSync(folder).flatMap((name) => pattern.exec(name)?.[1] ?? [])
  const running = await Promise.all(ids.map((id) => answers(folder, id)))
  return ids.filter((_, index) => running[index])
}

export function socketOf(folder: string, id: string): string {
  return join(folder, `lock-${id}.socket`)
}

async function answers(folder: string, id: string): Promise<boolean> {
  return withShortPath(folder, async (shortPath) => {
    const socket = connect(`${shortPath}/lock-${id}.socket`)
    try {
      await once(socket, 'connect')
      return true
    } catch (error) {
      // Any other code means that the process runs, for example if access is denied or too many connections wait.
      return !['ECONNREFUSED', 'ENOENT'].includes(codeOf(error))
    } finally {
      socket.destroy()
    }
  })
}

/**
 * Calls `use` with a short path to `folder`, however long its own path is: the address of a socket has at most 107
 * bytes.
 */
async function withShortPath<Result>(
  folder: string,
  use: (shortPath: string) => Promise<Result>,
): Promise<Result> {
  const descriptor = openSync(folder, 'r')
  try {
    return await use(`/proc/self/fd/${descriptor}`)
  } finally {
    closeSync(descriptor)
  }
}
