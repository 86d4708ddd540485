import { databaseCases } from '../database-cases.ts'
import { runCases } from '../in-page.ts'

await runCases(databaseCases)
