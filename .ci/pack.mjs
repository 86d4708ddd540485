// Writes the documents as they are packed: a link that leads out of the package becomes the name of its file. npm runs
// this before it packs, and `--restore` afterwards. If npm is killed in between, the next run restores the documents.
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
/** While the packed copies are in place: `before` has the originals, and `packed` has the copies. */
const folder = join(root, '.packing')

restore()
if (!process.argv.includes('--restore')) {
  const files = packedFiles()
  refuseMissing(files)
  writeCopies(files)
}

/** The paths that npm packs. */
function packedFiles() {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 24, shell: process.platform === 'win32' }
  const [{ files }] = JSON.parse(execFileSync('npm', args, options))
  return new Set(files.map(({ path }) => path))
}

/** Ends the process if the package lacks a file that its manifest names. */
function refuseMissing(files) {
  const { main, types, bin, exports, imports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const pathsIn = (value) => (typeof value === 'string' ? [value] : Object.values(value).flatMap(pathsIn))
  const named = pathsIn({ main, types, bin, exports, imports }).map((path) => posix.normalize(path))
  const missing = [...named, 'README.md', 'LICENSE', 'CHANGELOG.md'].filter((path) => !files.has(path))
  if (missing.length === 0) return
  console.error(`The package lacks ${[...new Set(missing)].join(', ')}.`)
  process.exit(1)
}

function writeCopies(files) {
  const isDocument = (path) => path.endsWith('.md') && !path.startsWith('dist/')
  const started = `${folder}.new`
  rmSync(started, { recursive: true, force: true })
  mkdirSync(started)
  for (const path of [...files].filter(isDocument)) {
    const text = readFileSync(join(root, path), 'utf8')
    const copy = packedText(path, text, files)
    if (copy === text) continue
    write(join(started, 'before', path), text)
    write(join(started, 'packed', path), copy)
  }
  // From here on, `restore` finds whatever the next lines have written.
  renameSync(started, folder)
  for (const path of savedPaths()) put('packed', path)
}

/** Restores each document that is as it was packed. A document that was edited in the meantime stays as it is. */
function restore() {
  for (const path of savedPaths()) {
    const now = existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined
    if (now === saved('packed', path)) put('before', path)
    else if (now !== saved('before', path))
      console.error(`${path} was edited while its packed copy was in place, and is not restored.`)
  }
  rmSync(folder, { recursive: true, force: true })
}

/** `text` of the document `path`, for a package that has only `files`. */
function packedText(path, text, files) {
  const pathOf = (target) => posix.join(posix.dirname(path), target.split('#')[0])
  const isPacked = (target) => /^(#|[a-z]+:)/.test(target) || files.has(pathOf(target))
  const withoutLinks = (prose) =>
    prose
      .replace(/<picture>.*?<\/picture>\n*/gs, (picture) =>
        [...picture.matchAll(/(?:src|srcset)="([^"]+)"/g)].every(([, target]) => isPacked(target))
          ? picture
          : '',
      )
      .replace(/!?\[([^\]]*)\]\(([^)\s]+)(?: "[^"]*")?\)/g, (link, label, target) => {
        if (isPacked(target)) return link
        const file = pathOf(target)
        if (!/[./]/.test(label) || !file.includes(label)) return `${label} (\`${file}\`)`
        return file.startsWith(label) ? `\`${label}\`` : `\`${file}\``
      })
  const parts = text.split(/^(```.*?^```$)/ms)
  return parts.map((part, index) => (index % 2 === 1 ? part : withoutLinks(part))).join('')
}

function savedPaths() {
  const before = join(folder, 'before')
  if (!existsSync(before)) return []
  const entries = readdirSync(before, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(before, join(entry.parentPath, entry.name)))
}

function saved(kind, path) {
  return readFileSync(join(folder, kind, path), 'utf8')
}

/** Replaces the document in one step, so that it is never there by half. */
function put(kind, path) {
  const next = join(folder, 'next')
  cpSync(join(folder, kind, path), next)
  renameSync(next, join(root, path))
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
