import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The texts of the project, by their path. */
function texts(): ReadonlyMap<string, string> {
  const below = (folder: string) =>
    readdirSync(`${root}${folder}`, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/[\\/](node_modules|dist)([\\/]|$)/.test(entry.parentPath))
      .map((entry) => `${entry.parentPath}/${entry.name}`.slice(root.length))
  const isText = (path: string) => /\.(css|html|js|json|md|mjs|mts|ts|tsx)$/.test(path)
  const own = readdirSync(root).filter((name) => name !== 'package-lock.json')
  const folders = ['.changeset', '.github', 'docs', 'src', 'test', 'examples', 'bench'].filter((name) =>
    own.includes(name),
  )
  const paths = [...own, ...folders.flatMap(below)].filter(isText)
  return new Map(paths.map((path) => [path, readFileSync(`${root}${path}`, 'utf8')]))
}

/** What nobody else can use. Put so that it does not find itself. */
const forbidden: { readonly [what: string]: RegExp } = {
  'a package registry': new RegExp(['registry', '[a-z]+', '(org|com|io|dev|net)'].join('\\.')),
  'a folder of one machine': /(?<![\w.:}/])\/(home|Users|root|work|private\/tmp|mnt)\/\w/,
  'a drive of one machine': /\b[A-Z]:\\\\?(Users|home|work)\\/i,
}

test('no text of the project names a registry, or a place on the machine that it was written on', () => {
  const all = texts()
  expect(all.size).toBeGreaterThan(200)
  const found = [...all].flatMap(([path, text]) =>
    Object.entries(forbidden)
      .filter(([, pattern]) => pattern.test(text))
      .map(([what]) => `${path} names ${what}`),
  )
  expect(found).toEqual([])
})

test.each([
  ['a package registry', ['https://registry', 'npmjs', 'org/zod'].join('.')],
  ['a folder of one machine', ['see ', 'home', 'ada/project'].join('/')],
  ['a folder of one machine', ["'", 'Users', "ada'"].join('/')],
  ['a drive of one machine', ['C:', 'Users', 'ada'].join('\\')],
])('%s would be found', (what, text) => {
  expect(forbidden[what]?.test(text)).toBe(true)
})
