import { readFileSync } from 'node:fs'
import { type Block, blocksOf, type Document, root } from './documents.ts'

/** The documents whose blocks are parts of the files of an example, with the folder of the example. */
const folders: { readonly [path: string]: string } = { 'docs/build-an-application.md': 'examples/app/' }

export function folderShownBy({ path }: Document): string | undefined {
  return folders[path]
}

/** The blocks of `document` that are parts of files. */
export function partsOf(document: Document): readonly Block[] {
  return blocksOf(document).filter(({ label }) => label !== '')
}

/**
 * The paragraphs of a block that its file does not have as whole lines, in this order. All that is between two blank lines
 * is a paragraph: a blank line in the block may stand for lines that are left out.
 */
export function strangeLines({ label, lines }: Block, folder: string): readonly string[] {
  const text = `\n${readFileSync(root + folder + label, 'utf8')}\n`
  let from = 0
  return lines
    .join('\n')
    .split(/\n{2,}/)
    .filter((paragraph) => {
      const found = text.indexOf(`\n${paragraph}\n`, from)
      if (found >= 0) from = found + paragraph.length
      return found < 0
    })
}
