export { seededRandom } from '../../src/testing/virtual-random.ts'
export { VirtualLifecycle, type VirtualWorld, virtualWorld } from '../../src/testing/virtual-world.ts'
