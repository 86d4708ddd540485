export { VirtualNetwork, type VirtualServer } from '../../src/testing/virtual-network.ts'
