import { testInBrowser } from '../browser/in-browser.ts'
import { queryCases } from './query-cases.tsx'
import { statusCases } from './status-cases.tsx'

testInBrowser(new URL('./page.ts', import.meta.url), [...queryCases, ...statusCases], {
  engines: ['chromium'],
})
