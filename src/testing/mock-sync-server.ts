import { checkOptions } from '../base/check-options.ts'
import { bareChecks } from './bare.ts'
import { MockSyncServer } from './mock-server.ts'
import { type MockSyncServerOptions, mockChecks } from './options.ts'
import { realTime, virtualTime } from './time.ts'
import type { VirtualClock } from './virtual-clock.ts'

/**
 * Creates a server for the tests of an application: the reference service in memory, on a network that the test
 * controls. Works with any test runner. Requires the package `hono`.
 *
 * By default, the clock is virtual, and only `settle`, `clock.advance` and `clock.until` move it. With `clock: 'real'`,
 * the server uses the system clock, for tests that wait by themselves. Throws a ConfigurationError for a wrong option.
 *
 * @example
 * const server = mockSyncServer()
 * await server.write([{ op: 'i', t: 'Issue', id: 'i1', p: { userId: 'ada', title: 'Cable cut' } }])
 * const client = server.client({ identity: 'ada' })
 * await client.start()
 * await server.settle()
 * client.get('Issue', 'i1')?.title // 'Cable cut'
 * await server.close()
 */
export function mockSyncServer(
  options?: MockSyncServerOptions & { readonly clock?: 'virtual' },
): MockSyncServer<VirtualClock>
export function mockSyncServer(options: MockSyncServerOptions & { readonly clock: 'real' }): MockSyncServer
export function mockSyncServer(
  options: MockSyncServerOptions & { readonly clock?: 'virtual' | 'real' } = {},
): MockSyncServer {
  checkOptions(options, mockChecks)
  if (options.bare) checkOptions(options.bare, bareChecks, 'bare.')
  const { clock, ...rest } = options
  if (clock === 'real') return new MockSyncServer(realTime(), rest)
  return new MockSyncServer(virtualTime(), rest)
}
