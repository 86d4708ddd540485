import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import type { Engine } from './engine.ts'
import { type EngineName, launchEngine } from './engines.ts'
import { makeProfile } from './in-browser.ts'
import { Mailbox, type PageServer, servePage } from './page-server.ts'
import type { Steps } from './pages/steps.ts'
import { Service } from './service.ts'

/** The tabs of one engine, which run steps that the test asks for. Before each test, there is another service. */
export function inTabs(engineName: EngineName) {
  let service: Service
  let page: PageServer
  let engine: Engine
  let steps: Mailbox
  /** The tabs of the current test, by the names under which they ask for their steps. */
  const tabs = new Map<string, string>()
  const cleanup: (() => Promise<unknown>)[] = []

  beforeAll(async () => {
    steps = new Mailbox()
    page = await servePage(new URL('./pages/steps.ts', import.meta.url), {
      commands: { next: (tab: string) => steps.next(tab) },
    })
    cleanup.unshift(page.close)
    const { profile, remove } = await makeProfile()
    cleanup.unshift(remove)
    engine = await launchEngine(engineName, profile)
    cleanup.unshift(engine.kill)
  })
  afterAll(async () => {
    for (const step of cleanup) await step()
  })

  // Each service has an address of its own, and so has each database.
  beforeEach(async () => {
    service = new Service()
    await service.up()
  })
  afterEach(async () => {
    for (const tab of tabs.keys()) await ask(tab, 'close')
    await service.down()
  })

  async function open(...names: readonly string[]): Promise<void> {
    for (const name of names) tabs.set(name, `${name} of ${service.url}`)
    const params = [...tabs.values()].map((tab) => new URLSearchParams({ tab, service: service.url }))
    await engine.open(...params.map((each) => `${page.url}?${each}`))
  }

  /** Runs a step in `tab`, and resolves with its result. */
  async function ask<Name extends keyof Steps>(
    tab: string,
    name: Name,
    ...value: Parameters<Steps[Name]>
  ): Promise<Awaited<ReturnType<Steps[Name]>>> {
    const type = tabs.get(tab) ?? tab
    if (name === 'close') tabs.delete(tab)
    steps.add({ type, name, value })
    return (await page.next(type)).value as Awaited<ReturnType<Steps[Name]>>
  }

  return {
    get service() {
      return service
    },
    get engine() {
      return engine
    },
    open,
    ask,
    /** Clears all that the tabs have stored. */
    clear: () => engine.clear?.(page.url),
    /** Stops all tasks of `tab`. Resolves with a function that lets it go on. */
    halt: (tab: string) => engine.halt?.(`${new URLSearchParams({ tab: tabs.get(tab) ?? tab })}`),
    /** Lets `tab` go away and back, with `during` in between. Resolves with whether the browser kept the page. */
    async leave(tab: string, during: () => Promise<unknown>): Promise<boolean> {
      const left = ask(tab, 'leave')
      await page.next(`${tabs.get(tab)} away`)
      await during()
      steps.add({ type: `${tabs.get(tab)} back` })
      return left
    },
  }
}
