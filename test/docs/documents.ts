import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The project's folder, with a slash at its end. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Document {
  /** From the project's folder, as in `docs/api.md`. */
  readonly path: string
  readonly text: string
}

/** A fenced block. */
export interface Block {
  readonly language: string
  /** What follows the language: the file that it is a part of, or what it shows. */
  readonly label: string
  /** The number of its first line in the document, from 0. */
  readonly line: number
  readonly lines: readonly string[]
}

/** The README, the change log, all of `docs/`, and what contributors read. */
export function readDocuments(): readonly Document[] {
  const names = readdirSync(`${root}docs`).filter((name) => name.endsWith('.md'))
  const others = [
    'README.md',
    'CHANGELOG.md',
    '.github/CONTRIBUTING.md',
    '.github/SECURITY.md',
    '.changeset/README.md',
  ]
  const paths = [...others, ...names.map((name) => `docs/${name}`)]
  return paths.map((path) => ({ path, text: readFileSync(root + path, 'utf8') }))
}

/** The fenced blocks of a document. Throws where one does not end. */
export function blocksOf({ path, text }: Document): readonly Block[] {
  const blocks: Block[] = []
  let open: (Block & { lines: string[] }) | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^\s*```(\S*) *(.*)$/.exec(line)
    if (!fence) open?.lines.push(line)
    else if (open) {
      blocks.push(open)
      open = undefined
    } else {
      const [, language = '', label = ''] = fence
      open = { language, label: label.trim(), line: index + 1, lines: [] }
    }
  }
  if (open) throw new Error(`A block of ${path} does not end (line ${open.line}).`)
  return blocks
}
