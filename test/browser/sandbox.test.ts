import { testInBrowser } from './in-browser.ts'
import { sandboxCase } from './sandbox-case.ts'

testInBrowser(new URL('./pages/sandbox.ts', import.meta.url), [sandboxCase])
