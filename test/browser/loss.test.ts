import { testInBrowser } from './in-browser.ts'
import { lossCases } from './loss-cases.ts'

testInBrowser(new URL('./pages/loss.ts', import.meta.url), lossCases)
