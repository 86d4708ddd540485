import { describe } from 'vitest'
import { testInBrowser } from '../browser/in-browser.ts'
import { concurrentCases } from './concurrent-cases.tsx'
import { queryCases } from './query-cases.tsx'
import { statusCases } from './status-cases.tsx'

const versions = [
  { version: 18, alias: { react: 'react-18', 'react-dom': 'react-dom-18' } },
  { version: 19, alias: {} },
]

describe.each(versions)('with React $version', ({ alias }) => {
  testInBrowser(new URL('./page.ts', import.meta.url), [...queryCases, ...statusCases, ...concurrentCases], {
    engines: ['chromium'],
    alias,
  })
})
