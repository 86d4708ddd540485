import { taskPageCases } from '../../../examples/testing/task-page.cases.tsx'
import { runCases } from '../in-page.ts'

// React asks for it of whoever uses `act`.
Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true })

await runCases(taskPageCases)
