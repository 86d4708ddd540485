import { describe, expect, test } from 'vitest'
import { at, failure, notes, oneNote } from '../support/test-backend.ts'

type Writing = Parameters<Awaited<ReturnType<typeof oneNote>>['client']['mutate']>[0]

const kinds: { readonly [kind: string]: Writing } = {
  insert: (m) => m.insert('Note', { id: '2', title: 'Bread' }),
  update: (m) => m.update('Note', '1', { title: 'Oat milk', more: true }),
  'put of what is there': (m) => m.put('Note', { id: '1', other: 1 }),
  'put of what is not': (m) => m.put('Note', { id: '2', title: 'Bread' }),
  delete: (m) => m.delete('Note', '1'),
  'all of them': (m) => {
    m.delete('Note', '1')
    m.insert('Note', { id: '1', title: 'Again' })
    m.insert('Note', { id: '2', n: 1 })
    m.update('Note', '2', { n: 2 })
    m.put('Note', { id: '3' })
    m.delete('Note', '3')
  },
}

describe.each(Object.keys(kinds))('undoing %s', (kind) => {
  const body: Writing = kinds[kind] ?? (() => {})

  test('before it is sent removes it without a trace', async () => {
    const { backend, device, client } = await oneNote()
    const before = notes(client)
    await client.stop()
    const tx = client.mutate(body)
    await backend.clock.until(tx.durable)
    expect(tx.state).toBe('queued')
    expect(await backend.clock.until(tx.undo())).toBeUndefined()
    expect([tx.state, client.outbox.list(), notes(client)]).toEqual(['cancelled', [], before])
    await expect(tx.accepted).rejects.toMatchObject({ name: 'RejectedError', reason: 'cancelled' })
    const again = await device.restart()
    await backend.clock.advance(10_000)
    expect([notes(again), backend.received]).toEqual([before, []])
  })

  test('after it may have been sent makes an inverse transaction', async () => {
    const { backend, device, client } = await oneNote()
    const before = notes(client)
    backend.intercept = at('tx', async (_, pass) => {
      await pass()
      backend.intercept = (_request, next) => next()
      return failure(503)
    })
    backend.push = () => {}
    const tx = client.mutate(body)
    await backend.clock.advance(100)
    expect(tx.state).toBe('queued')
    const inverse = (await backend.clock.until(tx.undo())) || undefined
    expect(notes(client)).toEqual(before)
    await backend.clock.until(inverse?.synced ?? Promise.reject())
    await backend.clock.advance(60_000)
    expect([tx.state, notes(client), await backend.rows()]).toEqual(['synced', before, before])
    await device.kill()
  })

  test('after a restart, if it was not sent, removes it without a trace', async () => {
    const { backend, device, client } = await oneNote()
    const before = notes(client)
    await client.stop()
    const tx = client.mutate(body)
    await backend.clock.until(tx.durable)
    await device.kill()
    const again = device.client()
    await backend.clock.until(again.sync())
    const restored = again.outbox.get(tx.id)
    expect(await backend.clock.until(restored?.undo() ?? Promise.reject())).toBeUndefined()
    expect([restored?.state, again.outbox.list(), notes(again)]).toEqual(['cancelled', [], before])
    await device.kill()
    expect(notes(await device.live())).toEqual(before)
    await backend.clock.advance(60_000)
    expect([backend.received, await backend.rows()]).toEqual([[], before])
  })

  test.each(['before the request was sent', 'before the response arrived'])(
    'makes an inverse transaction after a restart, if the process died %s',
    async (moment) => {
      const { backend, device, client } = await oneNote()
      const before = notes(client)
      device.network.latencyMs = 500
      backend.push = () => {}
      backend.intercept = at('tx', async () => failure(503))
      const tx = client.mutate(body)
      await backend.clock.until(tx.durable)
      await backend.clock.advance(moment === 'before the request was sent' ? 0 : 700)
      expect(tx.state).toBe('sending')
      await device.kill()
      expect(backend.received).toEqual(moment === 'before the request was sent' ? [] : [tx.id])
      device.network.latencyMs = 10
      backend.intercept = (_, pass) => pass()
      backend.push = (message, send) => send(message)
      device.network.cut()
      const again = await device.live()
      const inverse =
        (await backend.clock.until(again.outbox.get(tx.id)?.undo() ?? Promise.reject())) || undefined
      expect([inverse?.state, notes(again)]).toEqual(['queued', before])
      device.network.mend()
      await backend.clock.advance(60_000)
      expect([notes(again), await backend.rows()]).toEqual([before, before])
    },
  )

  test('while it is being stored removes it without a trace', async () => {
    const { backend, client } = await oneNote()
    const before = notes(client)
    const tx = client.mutate(body)
    expect(tx.state).toBe('writing')
    expect(await backend.clock.until(tx.undo())).toBeUndefined()
    await backend.clock.advance(10_000)
    expect([tx.state, notes(client), backend.received]).toEqual(['cancelled', before, []])
  })

  test.each(['sending', 'accepted', 'synced'])('once it is %s takes another transaction', async (state) => {
    const { backend, client } = await oneNote()
    const before = notes(client)
    if (state !== 'synced') backend.push = () => {}
    if (state === 'sending') backend.server.late(500, { endpoint: 'tx', times: Number.POSITIVE_INFINITY })
    const tx = client.mutate(body, { label: 'Write' })
    await backend.clock.until<unknown>(
      state === 'sending' ? tx.durable : state === 'accepted' ? tx.accepted : tx.synced,
    )
    expect(tx.state).toBe(state)
    const inverse = (await backend.clock.until(tx.undo())) || undefined
    expect(inverse?.label).toBe('Write')
    expect(notes(client)).toEqual(before)
    await backend.clock.until(inverse?.synced ?? Promise.reject())
    await backend.clock.advance(60_000)
    expect([notes(client), await backend.rows()]).toEqual([before, before])
  })

  test('and redoing it works step by step, online and offline', async () => {
    const { backend, device, client } = await oneNote()
    const before = notes(client)
    for (const isOnline of [true, false, true]) {
      if (isOnline) device.network.mend()
      else device.network.cut()
      await backend.clock.advance(60_000)
      client.mutate(body)
      const after = notes(client)
      for (let n = 0; n < 3; n += 1) {
        if (isOnline) await backend.clock.advance(20_000)
        expect(await backend.clock.until(client.undo())).toBe(true)
        expect(notes(client)).toEqual(before)
        if (isOnline) await backend.clock.advance(20_000)
        expect(await backend.clock.until(client.redo())).toBe(true)
        expect(notes(client)).toEqual(after)
      }
      await backend.clock.until(client.undo())
    }
    await backend.clock.advance(60_000)
    expect([notes(client), await backend.rows()]).toEqual([before, before])
    expect(client.outbox.list()).toEqual([])
  })
})
