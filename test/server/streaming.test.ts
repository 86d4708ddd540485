import { expect, test } from 'vitest'
import type { Snapshot } from '../../src/server/index.ts'
import { serviceOf } from './harness.ts'

/** A service whose snapshot comes from `batches`, and what became of them. */
function streaming(batches: () => AsyncGenerator<string>) {
  const made = serviceOf()
  let pulled = 0
  let released = false
  made.log.snapshot = async (): Promise<Snapshot> => {
    async function* counted() {
      try {
        for await (const batch of batches()) {
          pulled += 1
          yield batch
        }
      } finally {
        released = true
      }
    }
    return { ...(await made.log.position()), count: 1, batches: counted() }
  }
  return { ...made, state: () => ({ made: pulled, released }) }
}

const batch = JSON.stringify({ t: 'Todo', id: '1', v: 1, p: { text: 'x'.repeat(2_000) } })

async function* endless() {
  for (;;) yield batch
}

test('a snapshot is read only as fast as the client reads', async () => {
  const { ask, state } = streaming(endless)
  const reader = (await ask('bootstrap')).body?.getReader()
  for (let chunk = 0; chunk < 10; chunk += 1) await reader?.read()
  expect(state().made).toBeLessThan(15)
  await reader?.cancel()
})

test.each(['identity', 'gzip'])('a client that disconnects releases the read (%s)', async (encoding) => {
  const { ask, clock, state } = streaming(endless)
  const response = await ask('bootstrap', { headers: { 'accept-encoding': encoding } })
  const reader = response.body?.getReader()
  await reader?.read()
  await reader?.cancel()
  await clock.advance(0)
  expect(state().released).toBe(true)
})

test('a client that disconnects while a piece is read causes no error', async () => {
  let give = () => {}
  const { ask, clock, lines, state } = streaming(async function* () {
    yield batch
    await new Promise<void>((resolve) => {
      give = resolve
    })
    yield batch
  })
  const reader = (await ask('bootstrap')).body?.getReader()
  await reader?.read()
  const gone = reader?.cancel()
  give()
  await gone
  await clock.advance(0)
  expect([lines, state().released]).toEqual([[], true])
})

test('a failure before the first piece gets an error response', async () => {
  const { ask, lines } = streaming(async function* () {
    yield ''
    throw new Error('connection lost')
  })
  expect((await ask('bootstrap')).status).toBe(500)
  expect(lines.join()).toContain('connection lost')
})

test('a later failure breaks the response off, so that it does not look complete', async () => {
  const { ask, lines, state } = streaming(async function* () {
    yield batch
    yield batch
    throw new Error('connection lost to 10.0.0.1')
  })
  const response = await ask('bootstrap')
  expect(response.status).toBe(200)
  await expect(response.text()).rejects.toThrow('The response could not be completed.')
  expect(lines.join()).toContain('connection lost')
  expect(state().released).toBe(true)
})
