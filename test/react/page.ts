import { runCases } from '../browser/in-page.ts'
import { queryCases } from './query-cases.tsx'
import { statusCases } from './status-cases.tsx'

// React asks for it of whoever uses `act`.
Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true })

await runCases([...queryCases, ...statusCases])
