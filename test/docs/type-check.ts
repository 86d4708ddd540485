import ts from 'typescript'
import { root } from './documents.ts'
import type { Program } from './programs.ts'
import type { Globals } from './stage.ts'

/** What the programs are given without an import, and what each is called in {@link Globals}. */
const globals: { readonly [Name in keyof Globals]: true } = { session: true, render: true, signIn: true }

/**
 * What the compiler says against the programs in TypeScript, as `docs/api.md:12: …`. The project's own options hold.
 */
export function typeFaults(programs: readonly Program[]): readonly string[] {
  const typed = programs.filter(({ language }) => language !== 'js')
  const sources = new Map(typed.map((program) => [fileOf(program), program]))
  const prelude = `${root}test/docs/globals.d.ts`
  const texts = new Map([...sources].map(([file, { text }]) => [file, text]))
  texts.set(prelude, Object.keys(globals).map(declaration).join('\n'))

  // Node 20 has none, so its like is taken.
  const sqlite = `${root}test/docs/sqlite.d.ts`
  texts.set(sqlite, "declare module 'node:sqlite' { export { default as DatabaseSync } from 'libsql' }")

  const options = { ...projectOptions(), ...looser }
  const host = ts.createCompilerHost(options)
  const onDisk = { ...host }
  host.fileExists = (file) => texts.has(file) || onDisk.fileExists(file)
  host.readFile = (file) => texts.get(file) ?? onDisk.readFile(file)
  host.getSourceFile = (file, ...rest) => {
    const text = texts.get(file)
    return text === undefined
      ? onDisk.getSourceFile(file, ...rest)
      : ts.createSourceFile(file, text, ts.ScriptTarget.ES2022)
  }
  const compiled = ts.createProgram({ rootNames: [...texts.keys()], options, host })
  return [...sources].flatMap(([file, { document }]) =>
    ts.getPreEmitDiagnostics(compiled, compiled.getSourceFile(file)).map((fault) => {
      const line = fault.file?.getLineAndCharacterOfPosition(fault.start ?? 0).line ?? 0
      return `${document}:${line + 1}: ${ts.flattenDiagnosticMessageText(fault.messageText, ' ')}`
    }),
  )
}

/** An example may show a value without using it, and each file is one by itself. */
const looser: ts.CompilerOptions = {
  noUnusedLocals: false,
  noUnusedParameters: false,
  moduleDetection: ts.ModuleDetectionKind.Force,
}

function fileOf({ document, file, language }: Program): string {
  return `${root}${document}.${file.replaceAll(/\W/g, '-')}.${language}`
}

function declaration(name: string): string {
  return `declare const ${name}: import('./stage.ts').Globals['${name}']`
}

function projectOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile)
  return ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root).options
}
