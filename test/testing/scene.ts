import { afterEach, beforeEach, expect } from 'vitest'
import type { SyncClient } from '../../src/index.ts'
import { type MockSyncServer, mockSyncServer, type VirtualClock } from '../../src/testing/index.ts'

export const issue = (id: string, p: { readonly [field: string]: string | number } = {}) => {
  return { op: 'i' as const, t: 'Issue', id, p }
}

export const update = (id: string, p: { readonly [field: string]: string | number }) => {
  return { op: 'u' as const, t: 'Issue', id, p }
}

/** A server for each test of a file, and how Ada uses it. */
export interface Scene {
  readonly server: MockSyncServer<VirtualClock>
  /** Ada's client, in step. */
  live(): Promise<SyncClient>
  /** What was asked for, with its `since`. */
  asked(): readonly string[]
}

/** Closes the server after each test, and looks that nothing is left of it. */
export function setScene(): () => Scene {
  let server: MockSyncServer<VirtualClock>
  beforeEach(() => {
    server = mockSyncServer()
  })
  afterEach(async () => {
    await server.close()
    expect([server.clock.timers, server.environment.lifecycle.listeners]).toEqual([0, 0])
  })
  return () => ({
    server,
    async live() {
      const client = server.client({ identity: 'ada' })
      await client.start()
      await server.settle()
      return client
    },
    asked() {
      return server.requests.map(({ endpoint, query: { since } }) =>
        since === undefined ? endpoint : `${endpoint} ${since}`,
      )
    },
  })
}
