import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A library of an application's: whatever it exports, its declarations must name by what the package exports. */
const library = `
import { type ClientOf, defineModels, isSyncError, model, type ModelDefinitions, type Models, type NameOf, SyncClient } from 'instep'
import { createHooks } from 'instep/react'
import { createSyncService, jwtAuthentication } from 'instep/server'
import { instepCollectionOptions } from 'instep/tanstack-db'
import { mockSyncServer } from 'instep/testing'
import * as z from 'zod'

export const models = defineModels({ Issue: model(z.object({ title: z.string() })), Project: z.object({ name: z.string() }) })
export const client = new SyncClient({ baseUrl: 'https://api.example.com/sync/v1', models })
export const { SyncProvider, useClient, useLiveQuery, useRecord, usePending, useUndo } = createHooks<typeof models>()
export const useTitles = () => useLiveQuery('Issue', { orderBy: 'title' })
export const hooksFor = <M extends ModelDefinitions | Models>(_: M) => createHooks<M>()
export const listFor = <M extends ModelDefinitions | Models>(_: M) => createHooks<M>().useLiveQuery
export const clientFor = <M extends ModelDefinitions>(given: M) => new SyncClient({ baseUrl: '/sync/v1', models: given })
export const same = <M extends ModelDefinitions | Models>(given: ClientOf<M>) => given
export const allOf = <M extends ModelDefinitions, T extends NameOf<M>>(of: SyncClient<M>, type: T) => of.query(type)
export const failure = (error: unknown) => (isSyncError(error) ? error : undefined)
export const collection = instepCollectionOptions({ client, type: 'Issue' })
export const longer = { ...collection, gcTime: 0 }
export const server = mockSyncServer()
export const phone = server.device()
export const authenticate = jwtAuthentication({ secret: 'long enough' })
export const service = createSyncService({ database: 'memory:', authenticate, ownerField: 'userId' })
`

test.each([
  ['Node', 'module', ts.ModuleKind.NodeNext, ts.ModuleResolutionKind.NodeNext],
  ['CommonJS in Node', 'commonjs', ts.ModuleKind.NodeNext, ts.ModuleResolutionKind.NodeNext],
  ['a bundler', 'module', ts.ModuleKind.ESNext, ts.ModuleResolutionKind.Bundler],
])(
  'the declarations of what is built on it name only what it exports, for %s',
  async (_, type, module, resolution) => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'instep-')))
    const installed = join(folder, 'node_modules')
    try {
      await mkdir(installed)
      for (const name of ['zod', 'msw', 'jose', '@types', '@tanstack']) {
        await symlink(join(root, 'node_modules', name), join(installed, name))
      }
      for (const name of ['package.json', 'dist'])
        await cp(join(root, name), join(installed, 'instep', name), { recursive: true })
      await writeFile(join(folder, 'package.json'), JSON.stringify({ type }))
      const file = join(folder, 'library.ts')
      await writeFile(file, library)

      const program = ts.createProgram([file], {
        target: ts.ScriptTarget.ES2022,
        module,
        moduleResolution: resolution,
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: true,
        declaration: true,
        noEmit: true,
        preserveSymlinks: true,
        types: ['node'],
      })
      const faults = ts.getPreEmitDiagnostics(program)
      expect(faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))).toEqual([])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
  60_000,
)

test('the declarations of the service need no package but jose, zod and the types of Node', async () => {
  const packages = new Set<string>()
  const seen = new Set<string>()
  const follow = async (file: string): Promise<void> => {
    if (seen.has(file)) return
    seen.add(file)
    const source = await readFile(file, 'utf8')
    for (const [, target = ''] of source.matchAll(/^(?:im|ex)port .*?'([^']+)';$/gm)) {
      if (target.startsWith('.')) await follow(join(dirname(file), target.replace(/\.js$/, '.d.ts')))
      else if (!target.startsWith('node:')) packages.add(target)
    }
  }
  await follow(join(root, 'dist/server/index.d.ts'))
  expect([...packages].sort()).toEqual(['jose', 'zod/mini'])
})
