import { isSyncError } from '../../src/index.ts'
import { runCases } from '../browser/in-page.ts'
import { concurrentCases } from './concurrent-cases.tsx'
import { queryCases } from './query-cases.tsx'
import { statusCases } from './status-cases.tsx'

// React asks for it of whoever uses `act`.
Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true })

// React 18 tells the window, too, of what it gives to a boundary.
addEventListener('error', (event) => {
  if (isSyncError(event.error, 'ClosedError') || isSyncError(event.error, 'ConfigurationError'))
    event.stopImmediatePropagation()
})

await runCases([...queryCases, ...statusCases, ...concurrentCases])
