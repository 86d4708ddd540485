export {
  type VirtualEnvironment,
  VirtualLifecycle,
  virtualEnvironment,
} from '../../src/testing/virtual-environment.ts'
export { seededRandom } from '../../src/testing/virtual-random.ts'
