import { describe, expect, test } from 'vitest'
import type { SyncClientOptions } from '../../src/index.ts'
import { barePrefix } from '../support/bare-server.ts'
import { Device, shown } from '../support/device.ts'
import type { VirtualServer } from '../support/virtual.ts'

/** Where a client is to ask; the query of each is to come along. */
interface Places {
  readonly bootstrap: string
  readonly delta: string
  readonly ws: string
}

/** The bare server at other places, and nothing anywhere else. */
function at(places: Places, server: VirtualServer): VirtualServer {
  const inside = (request: Request) => {
    const { origin, pathname, searchParams } = new URL(request.url)
    const found = Object.entries(places).find(([, place]) => {
      const url = new URL(place.replace(/^ws/, 'http'))
      const bringsQuery = [...url.searchParams].every(([name, value]) => searchParams.get(name) === value)
      return `${url.origin}${url.pathname}` === `${origin}${pathname}` && bringsQuery
    })
    return new Request(`https://inside${barePrefix}/${found?.[0] ?? 'nowhere'}?${searchParams}`, request)
  }
  return {
    fetch: (request) => server.fetch(inside(request)),
    upgrade: (request) => server.upgrade(inside(request)),
  }
}

const page = 'https://app.example.com/inbox/7?tab=all#top'

interface Case {
  readonly options: Partial<SyncClientOptions>
  readonly location?: string
  readonly places: Places
}

/** The three places under one base. */
const under = (http: string, ws: string): Places => ({
  bootstrap: `${http}/bootstrap`,
  delta: `${http}/delta`,
  ws: `${ws}/ws`,
})

const cases: { readonly [name: string]: Case } = {
  'one base address': {
    options: { baseUrl: 'https://api.example.com/sync/v1' },
    places: under('https://api.example.com/sync/v1', 'wss://api.example.com/sync/v1'),
  },
  'one base address with slashes at its end': {
    options: { baseUrl: 'https://api.example.com/sync/v1//' },
    places: under('https://api.example.com/sync/v1', 'wss://api.example.com/sync/v1'),
  },
  'one base address without TLS, on a port': {
    options: { baseUrl: 'http://localhost:8080' },
    places: under('http://localhost:8080', 'ws://localhost:8080'),
  },
  'one base address under further paths, on a port': {
    options: { baseUrl: 'https://example.com:8443/apps/a%20b/sync/v1' },
    places: under('https://example.com:8443/apps/a%20b/sync/v1', 'wss://example.com:8443/apps/a%20b/sync/v1'),
  },
  'one base address with a query': {
    options: { baseUrl: 'https://api.example.com/sync/v1?org=7&x=a%26b' },
    places: {
      bootstrap: 'https://api.example.com/sync/v1/bootstrap?org=7&x=a%26b',
      delta: 'https://api.example.com/sync/v1/delta?org=7&x=a%26b',
      ws: 'wss://api.example.com/sync/v1/ws?org=7&x=a%26b',
    },
  },
  'a path from the root of the page': {
    options: { baseUrl: '/sync/v1' },
    location: page,
    places: under('https://app.example.com/sync/v1', 'wss://app.example.com/sync/v1'),
  },
  'a path from the page, which is on a port': {
    options: { baseUrl: 'sync' },
    location: 'http://localhost:5173/deep/down/',
    places: under('http://localhost:5173/deep/down/sync', 'ws://localhost:5173/deep/down/sync'),
  },
  'two base addresses': {
    options: { baseUrl: { http: 'https://api.example.com/s/', ws: 'wss://live.example.com:444/t?v=2' } },
    places: {
      bootstrap: 'https://api.example.com/s/bootstrap',
      delta: 'https://api.example.com/s/delta',
      ws: 'wss://live.example.com:444/t/ws?v=2',
    },
  },
  'two base addresses, one a path on the page': {
    options: { baseUrl: { http: '/api', ws: 'wss://live.example.com' } },
    location: page,
    places: under('https://app.example.com/api', 'wss://live.example.com'),
  },
  'three addresses': {
    options: {
      endpoints: {
        bootstrapUrl: 'https://cdn.example.com/snapshot.json?full=1',
        deltaUrl: 'https://api.example.com/changes/?format=frames',
        wsUrl: 'ws://live.example.com:81/',
      },
    },
    places: {
      bootstrap: 'https://cdn.example.com/snapshot.json?full=1',
      delta: 'https://api.example.com/changes/?format=frames',
      ws: 'ws://live.example.com:81/',
    },
  },
  'three paths on the page': {
    options: { endpoints: { bootstrapUrl: '/b', deltaUrl: './d', wsUrl: '/live?room=1' } },
    location: page,
    places: {
      bootstrap: 'https://app.example.com/b',
      delta: 'https://app.example.com/inbox/d',
      ws: 'wss://app.example.com/live?room=1',
    },
  },
}

describe('a bootstrap, a delta and a push come from', () => {
  test.each(Object.entries(cases))('%s', async (_, { options, location, places }) => {
    const device = new Device()
    device.network.use(at(places, device.mount))
    device.insert('snapshot')
    const client = device.client({ ...options, environment: { ...device.environment, location } })
    await device.clock.until(client.sync())
    expect(Object.keys(shown(client))).toEqual(['snapshot'])
    device.insert('delta')
    await device.clock.until(client.sync())
    expect(Object.keys(shown(client))).toEqual(['delta', 'snapshot'])
    await client.start()
    await device.clock.advance(1_000)
    expect(client.status.connection.state).toBe('socket')
    device.insert('push')
    await device.clock.advance(50)
    expect(Object.keys(shown(client))).toEqual(['delta', 'push', 'snapshot'])
    expect(new Set(device.requests.map((line) => line.split(' ')[0]))).toEqual(
      new Set(['bootstrap', 'delta', 'ws']),
    )
    expect(client.endpoints).toMatchObject({
      bootstrapUrl: places.bootstrap,
      deltaUrl: places.delta,
      wsUrl: places.ws,
    })
  })
})
