import { testInBrowser } from './in-browser.ts'
import { quotaBytes, roomCases } from './room-cases.ts'

testInBrowser(new URL('./pages/room.ts', import.meta.url), roomCases, {
  // WebKit is opened at an address, and not driven: nothing here can limit what it stores.
  engines: ['chromium', 'firefox'],
  before: async (engine, url) => engine.limit?.(url, quotaBytes),
})
