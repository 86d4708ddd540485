import { runCases } from '../in-page.ts'
import { lossCases } from '../loss-cases.ts'

await runCases(lossCases)
