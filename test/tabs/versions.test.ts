import { defineModels } from 'instep'
import { describe, expect, test } from 'vitest'
import { isObject } from '../../src/protocol/json.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { browser, idsIn, rolesOf, type Tab } from './browser.ts'

const older = defineModels({}, { version: 1 })
const newer = defineModels(
  {},
  {
    version: 2,
    migrate: { 2: { op: (op) => ({ ...op, p: { ...('p' in op && op.p), isNew: true } }) as TxOp } },
  },
)

const insert = (id: string) => (m: { insert(t: string, record: { readonly id: string }): unknown }) =>
  m.insert('Item', { id })

/** The versions of the models that `tab` was told of. */
function toldOf({ client }: Tab): readonly number[] {
  const told: number[] = []
  client.on('outdated', ({ version }) => told.push(version))
  return told
}

/** Makes the messages of the older code, and of the newer code, those of another version. */
function carry(deliver: () => void, message: unknown): void {
  if (isObject(message)) Object.assign(message, { protocol: message.version === 1 ? 0 : 2 })
  void Promise.resolve().then(deliver)
}

describe.each([
  ['other models', {}],
  ['other models and other messages', { carry }],
])('of two tabs with %s', (_, options) => {
  test('invariant 41: the older one is told once, and the newer one leads', async () => {
    const { server, open, front } = await browser(options)
    const first = await open({ models: older })
    const told = toldOf(first)
    const second = await open({ models: newer })
    await front(first)
    expect(told).toEqual([2])
    expect(rolesOf(first, second)).toEqual(['follower', 'leader'])
    await server.close()
  })

  test('invariant 41: the older one leaves the lead to a newer one that was there before, and both are in step', async () => {
    const { server, open, insert: insertElsewhere } = await browser(options)
    const second = await open({ models: newer, visible: false })
    const first = await open({ models: older })
    await insertElsewhere('i1')
    await server.clock.advance(5_000)
    expect(rolesOf(first, second)).toEqual(['follower', 'leader'])
    expect([first, second].map(idsIn)).toEqual([
      ['i0', 'i1'],
      ['i0', 'i1'],
    ])
    await server.close()
  })

  test('invariant 41: what the older one writes is migrated and sent by the newer one', async () => {
    const { server, open, asked } = await browser(options)
    const first = await open({ models: older })
    await open({ models: newer })
    const written = first.client.mutate(insert('i1'))
    await server.clock.advance(5_000)
    expect(written.state).toBe('synced')
    expect((await server.rows('ada')).find(({ id }) => id === 'i1')?.p).toMatchObject({ isNew: true })
    expect(asked('tx')).toBe(1)
    await server.close()
  })

  test('invariant 41: the older one leads, and stores a copy of its own, once the newer one is closed', async () => {
    const { open, close, insert: insertElsewhere, server } = await browser(options)
    const first = await open({ models: older })
    const second = await open({ models: newer })
    await close(second)
    await insertElsewhere('i1')
    expect(rolesOf(first)).toEqual(['leader'])
    first.client.mutate(insert('i2'))
    await server.settle()
    await close(first)
    server.down()
    expect(idsIn(await open({ models: older }))).toEqual(['i0', 'i1', 'i2'])
    await server.close()
  })
})
