export { VirtualLifecycle, type VirtualWorld, virtualWorld } from '../../src/testing/virtual-environment.ts'
export { seededRandom } from '../../src/testing/virtual-random.ts'
