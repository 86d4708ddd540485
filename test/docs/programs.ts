import { blocksOf, type Document } from './documents.ts'
import { folderShownBy } from './shown.ts'

/** The code of a document: its blocks without a name make one program, and those of each name another. */
export interface Program {
  readonly document: string
  readonly language: CodeLanguage
  /** The name of its file; '' where it has none. */
  readonly file: string
  /** Its blocks, each on the lines that it has in the document. */
  readonly text: string
}

/** Every block in one of these is code that is run; TypeScript is checked by its compiler as well. */
export const codeLanguages = ['ts', 'tsx', 'js'] as const

type CodeLanguage = (typeof codeLanguages)[number]

/** The blocks of these documents are whole files, which a test of the document runs in a folder and in a browser. */
const runAsFiles = ['docs/first-steps.md']

/** The programs of a document, in the order in which they begin. None if its blocks are files, or parts of files. */
export function programsOf(document: Document): readonly Program[] {
  if (folderShownBy(document) !== undefined || runAsFiles.includes(document.path)) return []
  const height = document.text.split('\n').length
  const programs = new Map<string, Omit<Program, 'text'> & { readonly lines: string[] }>()
  for (const { language, label: file, line, lines } of blocksOf(document)) {
    if (!isCode(language)) continue
    const begun = { document: document.path, language, file, lines: new Array<string>(height).fill('') }
    const program = programs.get(file) ?? begun
    program.lines.splice(line, lines.length, ...lines)
    programs.set(file, program)
  }
  return [...programs.values()].map(({ lines, ...rest }) => ({ ...rest, text: lines.join('\n') }))
}

function isCode(language: string): language is CodeLanguage {
  return codeLanguages.some((code) => code === language)
}

export function titleOf({ document, file }: Program): string {
  return file === '' ? document : `${document}, ${file}`
}
