import { storeContract } from '../../src/storage/contract.ts'
import { testInBrowser } from './in-browser.ts'

testInBrowser(new URL('./pages/storage.ts', import.meta.url), storeContract)
