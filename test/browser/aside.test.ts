import { asideCases } from './aside-cases.ts'
import { testInBrowser } from './in-browser.ts'

testInBrowser(new URL('./pages/aside.ts', import.meta.url), asideCases)
