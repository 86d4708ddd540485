import { MemoryLog } from '../../src/server/log/memory-log.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { seededRandom } from '../support/virtual-environment.ts'
import { describeLog } from './log-contract.ts'

describeLog('the log in memory', async () => ({
  log: new MemoryLog({ clock: new VirtualClock(), random: seededRandom(1) }),
}))
