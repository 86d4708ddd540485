import { posix } from 'node:path'
import type { Document } from './documents.ts'

/** The text without its blocks. */
export function prose({ text }: Document): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '')
}

/** What a link may name after `#`: the headings, as GitHub makes anchors of them. */
function anchorsOf(document: Document): readonly string[] {
  const headings = [...prose(document).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading)
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}

/** Where the documents are: the project, or a package. */
export interface Surroundings {
  readonly documents: readonly Document[]
  /** Whether there is a file or folder, by its path from the root. */
  exists(path: string): boolean
}

/** The links and pictures of a document that lead to no file, or to no heading. */
export function brokenLinks(document: Document, { documents, exists }: Surroundings): readonly string[] {
  const links = prose(document).matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)|\b(?:href|src|srcset)="([^"]+)"/g)
  const targets = [...links].map(([, target, ofElement]) => target ?? ofElement ?? '')
  return targets.filter((target) => {
    if (/^https?:/.test(target)) return false
    const [file, anchor] = target.split('#')
    const path = file ? posix.join(posix.dirname(document.path), file) : document.path
    if (file && !exists(path)) return true
    const other = [document, ...documents].find((one) => one.path === path)
    return anchor !== undefined && !(other && anchorsOf(other).includes(anchor))
  })
}
