import { fsyncSync, writeSync } from 'node:fs'
import type { PGlite, PGliteOptions } from '@electric-sql/pglite'
import { ConfigurationError, NetworkError, toError } from '../../../base/errors.ts'
import type { WalRoom } from './wal-room.ts'

/** An open file. `nfd` is a file descriptor of Node. */
interface Stream {
  readonly nfd: number
  readonly node: { readonly name: string; readonly parent: { readonly name: string } }
}

type WriteFile = (
  stream: Stream,
  buffer: Uint8Array,
  offset: number,
  length: number,
  position: number,
) => number

/** The part of PGlite's WebAssembly module that is used. */
interface Engine {
  readonly NODEFS: { readonly stream_ops: { fsync?: (stream: Stream) => number; write: WriteFile } }
}

interface EngineOptions {
  readonly preRun?: readonly ((engine: Engine) => void)[]
}

/**
 * Starts a PGlite that flushes its files when PostgreSQL asks for it: the log before a commit is answered, and the data
 * before the log is reused. By default, PGlite starts PostgreSQL with `-F`, its file system has no `fsync`, and its
 * `fdatasync` does nothing. Rejects with a ConfigurationError if this has no effect in the installed version. `wal`
 * hears of each write to the log of changes.
 */
export async function startFlushed(engine: typeof PGlite, dataDir: string, wal: WalRoom): Promise<PGlite> {
  let flushes = 0
  const install = (running: Engine) => {
    const files = running.NODEFS.stream_ops
    const { write } = files
    files.write = (stream, buffer, offset, length, position) => {
      if (stream.node.parent.name !== 'pg_wal') return write(stream, buffer, offset, length, position)
      try {
        const written = writeSync(stream.nfd, buffer, offset, length, position)
        wal.wrote(stream.node.name, position + written)
        return written
      } catch (cause) {
        throw stop(running, 'a write', cause)
      }
    }
    files.fsync = ({ nfd }) => {
      flushes += 1
      try {
        fsyncSync(nfd)
      } catch (cause) {
        throw stop(running, 'a flush', cause)
      }
      return 0
    }
  }
  const setup = async (_: unknown, options: EngineOptions) => ({
    emscriptenOpts: { ...options, preRun: [...(options.preRun ?? []), install] },
  })
  const options: PGliteOptions = {
    dataDir,
    extensions: { flush: { name: 'flush', setup } },
    startParams: [...engine.defaultStartParams, '-c', 'fsync=on', '-c', 'wal_sync_method=fsync'],
  }
  const pglite = await engine.create(options)
  // Every start flushes at least the control file.
  if (flushes > 0) return pglite
  await pglite.close()
  throw new ConfigurationError(
    '@electric-sql/pglite',
    'This version of `@electric-sql/pglite` does not flush its files to the disk; install version 0.5.16.',
  )
}

/**
 * Stops PostgreSQL at once: every later call of the module throws. Returns the NetworkError for the failed statement.
 * Normally, PostgreSQL ends its process after a failed flush, or a failed write to its log of changes; within PGlite, it
 * would continue and never answer.
 */
function stop(running: Engine, what: string, cause: unknown): NetworkError {
  const reason = toError(cause).message.replace(/\.$/, '')
  const advice = 'check the disk of its folder, then restart the service'
  const message = `The database has stopped because ${what} failed (${reason}); ${advice}.`
  const error = new NetworkError('stopped', message, { cause })
  const refuse = () => {
    throw error
  }
  for (const [name, part] of Object.entries(running)) {
    if (typeof part === 'function') Object.assign(running, { [name]: refuse })
  }
  return error
}
