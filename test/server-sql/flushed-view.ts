import fs, { type BigIntStats } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join, sep } from 'node:path'
import type { Random } from '../../src/base/environment.ts'

/** A file is named by its inode, and the moment that it was made at, since an inode is given again. */
type FileKey = string

/** What a disk holds for certain: the content of files, and the names that each folder has for files and folders. */
export interface Flushed {
  readonly contents: ReadonlyMap<FileKey, Buffer>
  readonly folders: ReadonlyMap<string, ReadonlyMap<string, FileKey | 'folder'>>
}

const pageBytes = 4_096

/**
 * What of a folder has been flushed to the disk, as its file system sees it; whatever was only written is lost with the
 * power. Flushing a file that is new flushes its name as well, as the file systems with a journal do; that a file has
 * another name now, or none, is flushed with its folder.
 */
export class FlushedView {
  readonly #root: string
  readonly #contents = new Map<FileKey, Buffer>()
  readonly #folders = new Map<string, Map<string, FileKey | 'folder'>>()
  readonly #paths = new Map<number, string>()

  /** Follows what this process does in `root`. `onFlush` is called before each flush, which takes no time of the real disk. */
  constructor(root: string, onFlush: () => void) {
    this.#root = root
    const { openSync } = fs
    const { open } = fs.promises
    const flush = (file: number) => {
      const path = this.#paths.get(file)
      if (path === undefined || !this.#isBelow(path)) return
      onFlush()
      this.#flush(file, path)
    }
    fs.openSync = (...args) => {
      const file = openSync(...args)
      this.#paths.set(file, String(args[0]))
      return file
    }
    fs.fsyncSync = flush
    fs.promises.open = async (...args) => {
      const handle = await open(...args)
      this.#paths.set(handle.fd, String(args[0]))
      handle.sync = async () => flush(handle.fd)
      return handle
    }
    syncBuiltinESMExports()
  }

  /** What has been flushed by now. */
  take(): Flushed {
    const folders = new Map([...this.#folders].map(([path, names]) => [path, new Map(names)]))
    return { contents: new Map(this.#contents), folders }
  }

  /** The same, with much of what was written and not flushed: pages of files, and the names in folders. */
  takeWithSome(random: Random): Flushed {
    const taken = this.take()
    const [contents, folders] = [new Map(taken.contents), new Map(taken.folders)]
    for (const entry of fs.readdirSync(this.#root, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      if (!this.#isBelow(path)) continue
      if (entry.isDirectory() && random.number() < 0.5) folders.set(path, this.#namesIn(path))
      if (!entry.isFile()) continue
      const key = keyOf(fs.statSync(path, { bigint: true }))
      contents.set(key, someOf(contents.get(key) ?? Buffer.alloc(0), fs.readFileSync(path), random))
    }
    return { contents, folders }
  }

  #isBelow(path: string): boolean {
    if (path === this.#root) return true
    // Locks are not data, and no start believes one that was left.
    return (
      path.startsWith(`${this.#root}${sep}`) && !/^(lock|.*\.socket)/.test(path.slice(this.#root.length + 1))
    )
  }

  #flush(file: number, path: string): void {
    const stats = fs.fstatSync(file, { bigint: true })
    if (stats.isDirectory()) {
      this.#folders.set(path, this.#namesIn(path))
      return
    }
    const key = keyOf(stats)
    // Another file, or none, may have this name by now.
    if (!fs.existsSync(path) || keyOf(fs.statSync(path, { bigint: true })) !== key) return
    if (!this.#contents.has(key)) this.#name(path, key)
    this.#contents.set(key, fs.readFileSync(path))
  }

  /** Gives `path` its name in the folder above it, and each of those above theirs. */
  #name(path: string, key: FileKey | 'folder'): void {
    if (path === this.#root) return
    const above = dirname(path)
    const names = this.#folders.get(above) ?? new Map()
    if (!names.has(path)) names.set(path, key)
    this.#folders.set(above, names)
    this.#name(above, 'folder')
  }

  #namesIn(folder: string): Map<string, FileKey | 'folder'> {
    const names = new Map<string, FileKey | 'folder'>()
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (!this.#isBelow(path)) continue
      if (entry.isDirectory()) names.set(path, 'folder')
      else if (entry.isFile()) names.set(path, keyOf(fs.statSync(path, { bigint: true })))
    }
    return names
  }
}

function keyOf({ ino, birthtimeNs }: BigIntStats): FileKey {
  return `${ino}:${birthtimeNs}`
}

/** `flushed`, with each page as it is in `written` or not, by chance. */
function someOf(flushed: Buffer, written: Buffer, random: Random): Buffer {
  const isLonger = random.number() < 0.5
  const some = Buffer.alloc(isLonger ? Math.max(written.length, flushed.length) : flushed.length)
  flushed.copy(some)
  for (let at = 0; at < some.length; at += pageBytes) {
    if (random.number() < 0.5) written.copy(some, at, at, at + pageBytes)
  }
  return some
}

/** Makes `target` as a disk that holds `flushed` of `root` shows it after a cut. */
export function restoreTo(target: string, root: string, { contents, folders }: Flushed): void {
  const make = (folder: string) => {
    const place = join(target, folder.slice(root.length))
    fs.mkdirSync(place, { recursive: true, mode: 0o700 })
    for (const [path, key] of folders.get(folder) ?? []) {
      if (key === 'folder') make(path)
      else fs.writeFileSync(join(target, path.slice(root.length)), contents.get(key) ?? '', { mode: 0o600 })
    }
  }
  make(root)
}
