import { taskPageCases } from '../../examples/testing/task-page.cases.tsx'
import { testInBrowser } from './in-browser.ts'

testInBrowser(new URL('./pages/testing.ts', import.meta.url), taskPageCases)
