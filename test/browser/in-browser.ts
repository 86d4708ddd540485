import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from './engine.ts'
import { type EngineName, engineNames, launchEngine } from './engines.ts'
import { type Aliases, type Message, type PageBackend, servePage } from './page-server.ts'

/** A folder for a browser's profile, removed by the function that comes with it. */
export async function makeProfile() {
  const profile = await mkdtemp(join(tmpdir(), 'instep-browser-'))
  return { profile, remove: () => rm(profile, { recursive: true, force: true, maxRetries: 5 }) }
}

export interface BrowserRun {
  /** Made anew for each engine. */
  backend?(): PageBackend
  /** Other packages for the page. */
  readonly alias?: Aliases
  /** @default all */
  readonly engines?: readonly EngineName[]
  /** Called before the page is opened at `url`. */
  before?(engine: Engine, url: string): Promise<void>
}

/**
 * Opens the page `entry` in every engine, and makes a test of each case that it runs.
 *
 * @param cases the cases that the page passes to `runCases`
 */
export function testInBrowser(
  entry: URL,
  cases: readonly { readonly name: string }[],
  { engines = engineNames, backend, alias, before }: BrowserRun = {},
): void {
  describe.each(engines)('in %s', (engineName) => {
    const told = new Map<string | undefined, Message>()
    const undo: (() => Promise<unknown>)[] = []

    beforeAll(async () => {
      const server = await servePage(entry, backend?.(), alias)
      undo.unshift(server.close)
      const { profile, remove } = await makeProfile()
      undo.unshift(remove)
      const engine = await launchEngine(engineName, profile)
      undo.unshift(engine.close)
      await before?.(engine, server.url)
      await engine.open(server.url)
      for (const _ of cases) {
        const message = await server.next('case')
        told.set(message.name, message)
      }
      await server.next('done')
    })
    afterAll(async () => {
      for (const step of undo) await step()
    })

    test.each(cases)('$name', ({ name }) => {
      expect(told.get(name), 'the case was run').toBeDefined()
      expect(told.get(name)?.error).toBeUndefined()
    })
  })
}
