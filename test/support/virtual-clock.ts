export { settle } from '../../src/testing/turns.ts'
export { VirtualClock } from '../../src/testing/virtual-clock.ts'
