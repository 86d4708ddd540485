import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Globals that are the same everywhere and reach nothing outside: the language, and the web's types of data. */
const pure = new Set([
  ...[
    'Array',
    'ArrayBuffer',
    'BigInt',
    'Boolean',
    'Error',
    'Float64Array',
    'Int32Array',
    'JSON',
    'Map',
    'Math',
  ],
  ...[
    'Number',
    'Object',
    'Promise',
    'RangeError',
    'Reflect',
    'RegExp',
    'Set',
    'String',
    'SyntaxError',
    'Symbol',
    'TypeError',
  ],
  ...['Uint32Array', 'Uint8Array', 'WeakMap', 'WeakSet', 'decodeURIComponent', 'encodeURIComponent'],
  ...[
    'AbortController',
    'AbortSignal',
    'Blob',
    'Buffer',
    'DOMException',
    'Headers',
    'ReadableStream',
    'Request',
  ],
  ...['Response', 'TextDecoder', 'TextEncoder', 'URL', 'URLSearchParams', 'structuredClone'],
])

/** Parts of these that are not. */
const impure = new Set(['Math.random', 'AbortSignal.timeout'])

/** Where the Environment and the adapters take their defaults from. */
const edges = /^src\/base\/(environment\.default|websocket\.\w+)\.ts$/

const exceptions: { readonly [file: string]: readonly string[] } = {
  'src/storage/indexeddb.ts': ['globalThis.indexedDB'],
  'src/storage/indexeddb-transaction.ts': [
    'IDBKeyRange.bound',
    'IDBKeyRange.lowerBound',
    'globalThis.addEventListener',
    'globalThis.removeEventListener',
  ],
  // A virtual clock goes on once the real event loop has nothing left to do.
  'src/testing/turns.ts': ['globalThis.setImmediate', 'globalThis.process'],
  // These read and make dates; neither asks what time it is.
  'src/network/response-error.ts': ['Date.parse'],
  'src/server/auth/jwt.ts': ['Date'],
  // Of the locale that the application passes.
  'src/models/collation.ts': ['Intl.Collator'],
}

/** Each use of a global in `src` as `name` or `name.member`, by file. */
function globalsUsed(): ReadonlyMap<string, ReadonlySet<string>> {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile)
  const { options, fileNames } = ts.parseJsonConfigFileContent({ ...config, include: ['src'] }, ts.sys, root)
  const program = ts.createProgram(fileNames, options)
  const checker = program.getTypeChecker()
  const isGlobal = (node: ts.Identifier) => {
    const source = checker.getSymbolAtLocation(node)?.declarations?.[0]?.getSourceFile()
    const isAmbient = (file: ts.SourceFile) =>
      program.isSourceFileDefaultLibrary(file) || file.fileName.includes('/@types/node/')
    return node.text === 'globalThis' || (source !== undefined && isAmbient(source))
  }
  const used = new Map<string, Set<string>>()
  for (const source of program.getSourceFiles()) {
    const file = relative(root, source.fileName)
    if (!file.startsWith('src/')) continue
    const names = new Set<string>()
    used.set(file, names)
    const visit = (node: ts.Node): void => {
      if (ts.isImportDeclaration(node) || (ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)))
        return
      const { parent } = node
      const access = parent && ts.isPropertyAccessExpression(parent) ? parent : undefined
      if (ts.isIdentifier(node) && access?.name !== node && isGlobal(node)) {
        names.add(access ? `${node.text}.${access.name.text}` : node.text)
      }
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return used
}

test('src takes from the globals what reaches nothing outside; all else comes from the Environment', () => {
  const wrong: string[] = []
  const seen = new Set<string>()
  for (const [file, names] of globalsUsed()) {
    for (const name of names) {
      seen.add(name)
      if (edges.test(file) || exceptions[file]?.includes(name)) continue
      if (!pure.has(name.split('.')[0] ?? '') || impure.has(name)) wrong.push(`${file} uses ${name}`)
    }
  }
  expect(wrong).toEqual([])
  // At the edges they are, so they would have been seen elsewhere.
  for (const name of [
    'Math.random',
    'Date.now',
    'setTimeout',
    'globalThis.fetch',
    'crypto.getRandomValues',
  ]) {
    expect(seen).toContain(name)
  }
})
