import { onTestFinished } from 'vitest'
import { type MockSyncServerOptions, mockSyncServer } from '../../src/testing/index.ts'

/** A server for the current test, which is closed after it, with all clients. */
export function ownServer(options?: MockSyncServerOptions) {
  const server = mockSyncServer(options)
  onTestFinished(() => server.close())
  return server
}
