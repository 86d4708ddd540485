import { createElement, type ReactNode, Suspense } from 'react'
import { renderToString } from 'react-dom/server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { indexedDbStore, isSyncError, type QuerySpec, SyncClient } from '../../src/index.ts'
import {
  SyncProvider,
  useClient,
  useLiveQuery,
  usePending,
  useRecord,
  useSuspenseQuery,
  useSyncStatus,
  useUndo,
} from '../../src/react/index.ts'
import { type MockSyncServer, mockSyncServer, type VirtualClock } from '../../src/testing/index.ts'

/** Shows all that the hooks give. */
function Everything(): ReactNode {
  const { rows, status, length, cursor, slice } = useLiveQuery('Issue', { orderBy: 'title' })
  const awaited = useSuspenseQuery('Issue')
  const record = useRecord('Issue', 'i1')
  const { data, connection } = useSyncStatus(({ data, connection }) => ({ data, connection }))
  const { pending, rejected } = usePending()
  const { lifecycle } = useSyncStatus()
  return JSON.stringify([
    [status, rows, length, cursor, slice(0, 9), awaited.status, awaited.rows],
    [record, data.state, connection.state, lifecycle, pending, rejected, useClient().lastSyncId],
  ])
}

function Asking({ spec }: { readonly spec: QuerySpec }): ReactNode {
  return useLiveQuery('Issue', spec).length
}

function Undo(): ReactNode {
  return JSON.stringify(Object.values(useUndo()))
}

const everything = (client: SyncClient) => createElement(SyncProvider, { client }, createElement(Everything))
const shownBy = (client: SyncClient) =>
  JSON.parse(renderToString(everything(client)).replaceAll('&quot;', '"'))

let server: MockSyncServer<VirtualClock>

beforeEach(() => {
  server = mockSyncServer()
})
afterEach(() => server.close())

describe('on a server', () => {
  test('there is nothing to undo, whatever the client has', async () => {
    const client = server.client({ identity: 'ada' })
    client.mutate((m) => m.insert('Issue', { id: 'i1' }))
    expect(client.canUndo).toBe(true)
    const page = createElement(SyncProvider, { client }, createElement(Undo))
    expect(renderToString(page)).toBe('[false,false,null,null]')
  })

  test('everything is pending and empty, and no client is started', async () => {
    const { baseUrl, environment } = server
    const client = new SyncClient({
      baseUrl,
      environment: environment,
      identity: 'ada',
      store: indexedDbStore(),
    })
    expect(shownBy(client)).toEqual([
      ['pending', [], 0, null, [], 'pending', []],
      [null, 'none', 'idle', 'idle', [], [], 0],
    ])
    await server.settle()
    expect(client.status.lifecycle).toBe('idle')
    expect(server.requests).toEqual([])
  })

  test('a client with data renders the same, since the page is for everybody', async () => {
    await server.write([{ op: 'i', t: 'Issue', id: 'i1', p: { userId: 'ada', title: 'Private' } }])
    const client = server.client({ identity: 'ada' })
    await client.start()
    await server.settle()
    expect(client.count('Issue')).toBe(1)
    expect(JSON.stringify(shownBy(client))).not.toContain('Private')
  })

  test('a Suspense does not show its fallback', () => {
    const client = server.client({ identity: 'ada' })
    const page = createElement(Suspense, { fallback: 'Loading' }, everything(client))
    expect(renderToString(page)).not.toContain('Loading')
  })
})

test('a component without a provider gets an error that names the provider', () => {
  const render = () => renderToString(createElement(Everything))
  expect(render).toThrow(/SyncProvider/)
  expect(render).toThrow(expect.toSatisfy((error) => isSyncError(error, 'ConfigurationError')))
})

test.each([
  ['limit', { limit: -1 }],
  ['where.size', { where: { size: 1n } }],
  ['spec', null],
])('a query with a wrong %s is reported when it is rendered', (option, wrong) => {
  const client = server.client({ identity: 'ada' })
  const asking = createElement(Asking, { spec: wrong as QuerySpec })
  const render = () => renderToString(createElement(SyncProvider, { client }, asking))
  expect(render).toThrow(expect.toSatisfy((error) => isSyncError(error, 'ConfigurationError')))
  expect(render).toThrow(option)
})
