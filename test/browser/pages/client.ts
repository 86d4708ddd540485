import { clientCases } from '../client-cases.ts'
import { runCases } from '../in-page.ts'

await runCases(clientCases)
