import { databaseCases } from './database-cases.ts'
import { testInBrowser } from './in-browser.ts'

testInBrowser(new URL('./pages/database.ts', import.meta.url), databaseCases)
