import { testInBrowser } from './in-browser.ts'
import { lossCases, quotaBytes } from './loss-cases.ts'

testInBrowser(new URL('./pages/loss.ts', import.meta.url), lossCases, {
  // Firefox and WebKit are opened at an address, and not driven: nothing here can limit or clear what they store.
  engines: ['chromium'],
  before: async (engine, url) => engine.storage?.limit(url, quotaBytes),
  async during(engine, server) {
    for (const _ of lossCases.filter(({ clears }) => clears)) {
      await server.next('clear')
      await engine.storage?.clear(server.url)
    }
  },
})
