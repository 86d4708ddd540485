import { MemoryLog } from '../../src/server/log/memory-log.ts'
import { seededRandom, VirtualClock } from '../support/virtual.ts'
import { describeLog } from './log-contract.ts'

describeLog('the log in memory', async () => ({
  log: new MemoryLog({ clock: new VirtualClock(), random: seededRandom(1) }),
}))
