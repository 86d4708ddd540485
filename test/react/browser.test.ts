import { testInBrowser } from '../browser/in-browser.ts'
import { concurrentCases } from './concurrent-cases.tsx'
import { queryCases } from './query-cases.tsx'
import { statusCases } from './status-cases.tsx'

const page = {
  entry: new URL('./page.ts', import.meta.url),
  cases: [...queryCases, ...statusCases, ...concurrentCases],
}

testInBrowser(
  {
    'with React 18': { ...page, alias: { react: 'react-18', 'react-dom': 'react-dom-18' } },
    'with React 19': page,
  },
  ['chromium'],
)
