import { testInBrowser } from './in-browser.ts'
import { lossCases, quotaBytes } from './loss-cases.ts'

testInBrowser(new URL('./pages/loss.ts', import.meta.url), lossCases, {
  before: (engine, url) => engine.limitStorage(url, quotaBytes),
  async during(engine, server) {
    await server.next('clear')
    await engine.clearStorage(server.url)
  },
})
