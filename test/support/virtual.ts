export { settle } from '../../src/testing/turns.ts'
export { VirtualClock } from '../../src/testing/virtual-clock.ts'
export {
  type VirtualEnvironment,
  VirtualLifecycle,
  virtualEnvironment,
} from '../../src/testing/virtual-environment.ts'
export { VirtualNetwork, type VirtualServer } from '../../src/testing/virtual-network.ts'
export { mulberry32, seededRandom } from '../../src/testing/virtual-random.ts'
