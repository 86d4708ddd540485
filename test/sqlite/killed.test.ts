import { expect, test } from 'vitest'
import { runChild } from '../support/child.ts'
import { ownFolder, ownSqliteStore } from '../support/sqlite.ts'
import { inStep } from '../support/test-backend.ts'

interface Said {
  readonly found?: number
  readonly id?: string
}

// Nothing listens on that port.
const baseUrl = 'http://127.0.0.1:9/sync/v1'

test('offline writes of killed processes arrive once', async () => {
  const folder = ownFolder()
  let durable = 0
  for (const writes of [1, 30, 7]) {
    const child = await runChild<Said>('test/sqlite/offline-writer.ts', [folder, baseUrl])
    const { found } = await child.next()
    expect(found).toBeGreaterThanOrEqual(durable)
    for (let n = 0; n < writes; n += 1) durable = Number((await child.next()).id) + 1
    await child.kill()
  }
  const { backend, device, client } = await inStep({}, { store: ownSqliteStore(folder), baseUrl })
  await backend.clock.advance(5_000)
  const count = client.count('Note')
  expect(count).toBeGreaterThanOrEqual(durable)
  const ids = Array.from({ length: count }, (_, n) => `${n}`)
  expect(await backend.rows()).toEqual(Object.fromEntries(ids.map((id) => [id, { n: Number(id) }])))
  expect(backend.received).toHaveLength(count)
  expect(client.status.writes).toMatchObject({ pending: 0, rejected: 0 })
  await device.kill()
})
