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

/** A page that runs cases. */
export interface BrowserPage {
  readonly entry: URL
  /** What the page passes to `runCases`. */
  readonly cases: readonly { readonly name: string }[]
  /** Made anew for each engine. */
  backend?(): PageBackend
  /** Other packages for the page. */
  readonly alias?: Aliases
  /** @default all */
  readonly engines?: readonly EngineName[]
  /** Called before the page is opened at `url`. */
  before?(engine: Engine, url: string): Promise<void>
}

/** Opens one page after another in every engine, each of which is started once, and makes a test of each case. */
export function testInBrowser(
  pages: { readonly [what: string]: BrowserPage },
  engines: readonly EngineName[] = engineNames,
): void {
  describe.each(engines)('in %s', (engineName) => {
    const undo: (() => Promise<unknown>)[] = []
    let engine: Engine
    let goTo: (url: string) => Promise<unknown>

    beforeAll(async () => {
      const { profile, remove } = await makeProfile()
      undo.unshift(remove)
      engine = await launchEngine(engineName, profile)
      undo.unshift(engine.close)
      goTo = engine.open
    })
    afterAll(async () => {
      for (const step of undo) await step()
    })

    for (const [what, page] of Object.entries(pages)) {
      if (page.engines?.includes(engineName) === false) continue
      describe(what, () => {
        const told = new Map<string | undefined, Message>()

        beforeAll(async () => {
          const server = await servePage(page.entry, page.backend?.(), page.alias)
          undo.push(server.close)
          await page.before?.(engine, server.url)
          const open = goTo
          // A page that does not come to its end goes nowhere.
          goTo = engine.open
          await open(server.url)
          for (const _ of page.cases) {
            const message = await server.next('case')
            told.set(message.name, message)
          }
          await server.next('done')
          goTo = async (url) => server.sendTo(url)
        })

        test.each(page.cases)('$name', ({ name }) => {
          expect(told.get(name), 'the case was run').toBeDefined()
          expect(told.get(name)?.error).toBeUndefined()
        })
      })
    }
  })
}
