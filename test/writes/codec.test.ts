import { describe, expect, test } from 'vitest'
import type { TxCodec } from '../../src/index.ts'
import { inStep, notes, TestBackend } from '../support/test-backend.ts'

/** What its codec makes of a transaction. */
interface Body {
  readonly key: string
  readonly changes: readonly {
    readonly verb: 'create' | 'change' | 'drop'
    readonly table: string
    readonly row: string
    readonly fields?: object
  }[]
}

/** A server of another kind behind the same data: one change a request, and no word of positions. */
function restLike(backend: TestBackend) {
  const bodies: Body[] = []
  let refuses: string | undefined
  const answer = async (request: Request): Promise<Response> => {
    const body: Body = await request.json()
    bodies.push(body)
    if (refuses === body.key) return Response.json({ ok: false, why: 'No such shelf.' })
    for (const { verb, table, row, fields } of body.changes) {
      const op = { create: 'i', change: 'u', drop: 'd' }[verb]
      await backend.server.write([
        { op, t: table, id: row, ...(fields && { p: { userId: 'ada', ...fields } }) } as never,
      ])
    }
    return Response.json({ ok: true })
  }
  backend.intercept = (request, pass) => (request.url.endsWith('/tx') ? answer(request) : pass())
  return {
    bodies,
    refuse: (id: string) => {
      refuses = id
    },
  }
}

/** Its codec. A server that does not say how far its history is gives no position: the next delta tells. */
const restCodec: TxCodec = {
  maxTransactions: 1,
  encode: ([tx]) => ({
    key: tx?.id,
    changes: tx?.ops.map(({ op, t, id, ...rest }) => ({
      verb: { i: 'create', u: 'change', d: 'drop' }[op],
      table: t,
      row: id,
      ...('p' in rest && { fields: rest.p }),
    })),
  }),
  decode: (body, txs) => {
    const { ok, why } = body as { ok: boolean; why: string }
    const sid = Number.MAX_SAFE_INTEGER
    return {
      sid,
      results: txs.map(({ id }) => (ok ? { id, sid } : { id, error: { code: 'invalid', message: why } })),
    }
  },
}

async function open(codec: TxCodec) {
  const backend = new TestBackend()
  await backend.insert('1', { title: 'Milk' })
  const server = restLike(backend)
  const device = backend.device()
  return { backend, device, server, client: await device.live({ transactionCodec: codec }) }
}

describe('a server with its own body format', () => {
  test('gets one transaction per request, and its responses become results', async () => {
    const { backend, device, server, client } = await open(restCodec)
    device.network.cut()
    const made = [
      client.mutate((m) => m.update('Note', '1', { title: 'Oat milk' })),
      client.mutate((m) => m.insert('Note', { id: '2', title: 'Bread' }), { label: 'Add' }),
      client.mutate((m) => m.update('Note', '2', { n: 1 }), { label: 'Count' }),
      client.mutate((m) => m.delete('Note', '1')),
    ] as const
    server.refuse(made[1].id)
    device.network.mend()
    await backend.clock.advance(60_000)
    expect(made.map(({ state }) => state)).toEqual(['synced', 'rejected', 'rejected', 'synced'])
    // What required the refused one was not even sent.
    expect(server.bodies).toEqual([
      {
        key: made[0].id,
        changes: [{ verb: 'change', table: 'Note', row: '1', fields: { title: 'Oat milk' } }],
      },
      { key: made[1].id, changes: [expect.objectContaining({ verb: 'create', row: '2' })] },
      { key: made[3].id, changes: [{ verb: 'drop', table: 'Note', row: '1' }] },
    ])
    expect(device.log).toEqual(['rejected Add invalid', 'rejected Count dependency_rejected'])
    expect([notes(client), await backend.rows()]).toEqual([{}, {}])
  })

  test('that sends no position ends the wait by the next delta, even after a restart', async () => {
    const { backend, device, client } = await open(restCodec)
    backend.push = () => {}
    const tx = client.mutate((m) => m.update('Note', '1', { title: 'Oat milk' }))
    await backend.clock.until(tx.accepted)
    expect(tx.state).toBe('accepted')
    await backend.clock.advance(50)
    const next = await device.restart({ transactionCodec: restCodec })
    await backend.clock.advance(5_000)
    expect([next.outbox.list(), notes(next)]).toEqual([[], { 1: { title: 'Oat milk' } }])
  })
})

describe('a codec', () => {
  /** One that passes on to the service what it is given, and notes it. */
  function noting(more: Partial<TxCodec> = {}) {
    const batches: string[][] = []
    const codec: TxCodec = {
      encode: (txs) => {
        batches.push(txs.map(({ id }) => id))
        return { txs }
      },
      decode: (body) => body as never,
      ...more,
    }
    return { codec, batches }
  }

  async function three(codec: TxCodec) {
    const { backend, device, client } = await inStep({}, { transactionCodec: codec })
    device.network.cut()
    const made = [
      client.mutate((m) => m.insert('Note', { id: '1' })),
      client.mutate((m) => m.update('Note', '1', { n: 1 })),
      client.mutate((m) => m.insert('Note', { id: '2' })),
    ]
    await backend.clock.advance(100)
    device.network.mend()
    return { backend, device, client, made, ids: made.map(({ id }) => id) }
  }

  test('without `requires` never sends a transaction together with its requirement', async () => {
    const { codec, batches } = noting()
    const { backend, made, ids } = await three(codec)
    await backend.clock.until(Promise.all(made.map((tx) => tx.synced)))
    expect(batches.slice(-2)).toEqual([ids.slice(0, 1), ids.slice(1)])
  })

  test.each([
    [1, 3],
    [2, 2],
    [1.5, 3],
    [undefined, 1],
  ])('that takes %s in one request is asked %s times', async (maxTransactions, times) => {
    const { codec, batches } = noting({ requires: true, ...(maxTransactions && { maxTransactions }) })
    const { backend, made, ids } = await three(codec)
    await backend.clock.until(Promise.all(made.map((tx) => tx.synced)))
    const last = batches.slice(-times)
    expect(last.flat()).toEqual(ids)
  })

  test.each([
    ['encode', { encode: () => fail() }, 'error ConfigurationError configuration'],
    ['encode by what it gives', { encode: () => 1n }, 'error ConfigurationError configuration'],
    ['encode by giving nothing', { encode: () => undefined }, 'error ConfigurationError configuration'],
    ['decode', { decode: () => fail() }, 'error ProtocolError bad_envelope'],
    [
      'decode by what it gives',
      { decode: () => ({ results: 5 }) as never },
      'error ProtocolError bad_envelope',
    ],
    ['decode by giving nothing', { decode: () => undefined as never }, 'error ProtocolError bad_envelope'],
    [
      'decode by a sid that is none',
      {
        decode: (_: unknown, txs: readonly { id: string }[]) => ({
          sid: 1,
          results: txs.map(({ id }) => ({ id, sid: Number.NaN })),
        }),
      },
      'error ProtocolError bad_envelope',
    ],
  ])('that fails in %s loses nothing, and is asked again with waits', async (_, broken, told) => {
    const { codec, batches } = noting({ requires: true })
    const changing = { ...codec, ...broken }
    const { backend, device, made } = await three(changing)
    await backend.clock.advance(300_000)
    expect(made.every(({ state }) => state !== 'rejected' && state !== 'failed')).toBe(true)
    expect(new Set(device.log)).toEqual(new Set([told]))
    expect(batches.length).toBeLessThan(40)
    Object.assign(changing, codec)
    await backend.clock.until(Promise.all(made.map((tx) => tx.synced)))
  })

  test('that creates no body is reported while it blocks transactions', async () => {
    const { codec } = noting({ requires: true })
    const changing = { ...codec, encode: fail }
    const { backend, client, made } = await three(changing)
    await backend.clock.advance(1_000)
    expect(client.status.writes.paused).toBe('`transactionCodec.encode` failed: Mine.')
    Object.assign(changing, codec)
    await backend.clock.until(Promise.all(made.map((tx) => tx.synced)))
    await backend.clock.advance(1_000)
    expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
  })
})

function fail(): never {
  throw new Error('Mine.')
}
