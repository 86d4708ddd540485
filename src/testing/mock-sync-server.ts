import { checkOptions } from '../base/check-options.ts'
import { MockSyncServer } from './mock-server.ts'
import { type MockSyncServerOptions, mockChecks } from './options.ts'
import { realTime, virtualTime } from './time.ts'
import type { VirtualClock } from './virtual-clock.ts'

/**
 * A server to test an application against: the reference service in memory, on a network that a test commands. It needs
 * no test runner and the package `hono`.
 *
 * Its clock stands still until `settle`, `clock.advance` or `clock.until` moves it; with `clock: 'real'` it is the
 * system's, for tests that wait by themselves. Throws a ConfigurationError for a wrong option.
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
  given: MockSyncServerOptions & { readonly clock?: 'virtual' | 'real' } = {},
): MockSyncServer {
  checkOptions(given, mockChecks)
  const { clock, ...options } = given
  if (clock === 'real') return new MockSyncServer(realTime(), options)
  return new MockSyncServer(virtualTime(), options)
}
