import { once } from 'node:events'
import { mkdtempSync, readdirSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { platform } from 'node:process'
import type { Unsubscribe } from '../../../base/emitter.ts'
import { codeOf } from '../../../base/errors.ts'
import { sha256 } from '../../sha256.ts'

/*
 * A process shows that it is running by listening on a socket in the folder. Every process on the same system can check
 * this, also from another container: the system accepts connections even while the process is busy, and refuses them
 * once the process has ended. Windows has no such sockets. There, each folder has a named pipe, on which only one
 * process can listen.
 */

const pattern = /^lock-(.+)\.socket$/

/** The maximum length of a socket's address, in bytes, on all systems. */
const maxAddressBytes = 103

/** Listens in `folder` as `id`, without keeping the process alive. Returns a function that stops it. */
export async function listenIn(folder: string, id: string): Promise<Unsubscribe> {
  const server = createServer((socket) => socket.destroy())
  server.unref()
  if (platform === 'win32') {
    await listening(server, `\\\\.\\pipe\\instep-${sha256(resolve(folder))}`)
    return () => server.close()
  }
  const [draft, path] = [join(folder, `lock-${id}.new`), socketOf(folder, id)]
  try {
    await withShortPath(folder, `lock-${id}.new`, (address) => listening(server, address))
    // The socket gets its name once it accepts connections. So a socket that refuses connections belongs to a process
    // that has ended.
    renameSync(draft, path)
  } catch (error) {
    server.close()
    rmSync(draft, { force: true })
    throw error
  }
  return () => {
    rmSync(path, { force: true })
    server.close()
  }
}

/** The ids of the processes that listen in `folder`. Deletes the sockets of processes that have ended. */
export async function listenersIn(folder: string): Promise<readonly string[]> {
  const ids = readdirSync(folder).flatMap((name) => pattern.exec(name)?.[1] ?? [])
  const running = await Promise.all(ids.map((id) => answers(folder, id)))
  return ids.filter((_, index) => running[index])
}

function socketOf(folder: string, id: string): string {
  return join(folder, `lock-${id}.socket`)
}

async function listening(server: Server, path: string): Promise<void> {
  // Otherwise the primary process of a cluster would listen instead, and would outlive this process.
  server.listen({ path, exclusive: true, readableAll: true, writableAll: true })
  await once(server, 'listening')
  // A process that connects learns the same from a failed connection.
  server.on('error', () => {})
}

async function answers(folder: string, id: string): Promise<boolean> {
  return withShortPath(folder, `lock-${id}.socket`, async (address) => {
    const socket = connect(address)
    try {
      await once(socket, 'connect')
      return true
    } catch (error) {
      if (codeOf(error) === 'ECONNREFUSED') rmSync(socketOf(folder, id), { force: true })
      // Any other code means that the process runs, for example if access is denied or too many connections wait.
      return !['ECONNREFUSED', 'ENOENT'].includes(codeOf(error))
    } finally {
      socket.destroy()
    }
  })
}

/** Calls `use` with the address of the socket `name` in `folder`: by a link, if its path is too long for an address. */
async function withShortPath<Result>(
  folder: string,
  name: string,
  use: (address: string) => Promise<Result>,
): Promise<Result> {
  const address = join(folder, name)
  if (Buffer.byteLength(address) <= maxAddressBytes) return use(address)
  const above = mkdtempSync(join(tmpdir(), 'instep-'))
  try {
    const link = join(above, 'f')
    symlinkSync(realpathSync(folder), link)
    return await use(join(link, name))
  } finally {
    rmSync(above, { recursive: true })
  }
}
