import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { linkSetup } from '../support/test-realtime-socket.ts'
import { mulberry32, settle } from '../support/virtual.ts'

type Setup = ReturnType<typeof linkSetup>

const step = fc.constantFrom<[name: string, (setup: Setup) => unknown]>(
  ['start', ({ socket }) => socket.start()],
  ['stop', ({ socket }) => socket.stop()],
  ['renew', ({ socket }) => socket.renew()],
  ['expect a heartbeat', ({ socket }) => socket.expectHeartbeat(2_000)],
  ['the socket opens', ({ sockets }) => sockets.all.at(-1)?.opens()],
  ['the socket speaks', ({ sockets }) => sockets.all.at(-1)?.says('x')],
  ['the socket dies', ({ sockets }) => sockets.all.at(-1)?.dies()],
  ['every older socket speaks', ({ sockets }) => sockets.all.slice(0, -1).map((old) => old.says('old'))],
  ['every older socket dies', ({ sockets }) => sockets.all.slice(0, -1).map((old) => old.dies())],
  ['1 ms', ({ clock }) => clock.advance(1)],
  ['1 s', ({ clock }) => clock.advance(1_000)],
  ['40 s', ({ clock }) => clock.advance(40_000)],
  ['offline', ({ lifecycle }) => lifecycle.set({ online: false })],
  ['online', ({ lifecycle }) => lifecycle.set({ online: true })],
  ['hidden', ({ lifecycle }) => lifecycle.set({ visible: false })],
  ['visible', ({ lifecycle }) => lifecycle.set({ visible: true })],
)

test('whatever happens, there is at most one socket, none after a stop, and its events come in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.nat(), async (steps, seed) => {
      const setup = linkSetup({ seed })
      for (const [, run] of steps) {
        await run(setup)
        expect(setup.sockets.live.length).toBeLessThanOrEqual(1)
        expect(setup.socket.state.name === 'open').toBe(setup.sockets.live[0]?.readyState === 1)
      }
      expect(setup.log).not.toContain('message old')
      setup.socket.stop()
      await setup.clock.advance(60_000)
      expect([setup.sockets.live.length, setup.clock.timers, setup.lifecycle.listeners]).toEqual([0, 0, 0])
      // A stop says nothing, so an `opened` may follow another only where one lay between them.
      const stops = steps.filter(([name]) => name === 'stop').length
      const opened = setup.log.filter((line) => line === 'opened').length
      const lost = setup.log.filter((line) => line.startsWith('lost open ')).length
      expect(opened - lost).toBeLessThanOrEqual(stops + 1)
      expect(lost).toBeLessThanOrEqual(opened)
    }),
    { numRuns: 300 },
  )
})

test('invariant 51: 1 000 clients reconnect after a restart of the server, at most a few hundred per second', async () => {
  const random = mulberry32(7)
  const setups = Array.from({ length: 1_000 }, () => linkSetup({ seed: Math.floor(random() * 2 ** 32) }))
  for (const { socket } of setups) socket.start()
  await settle()
  const connects: number[] = []
  for (const { socket, sockets, clock } of setups) {
    sockets.last.opens()
    sockets.last.says('hello')
    sockets.last.dies(1012)
    if (socket.state.name === 'waiting') connects.push(socket.state.retryAt - clock.now())
  }
  const within = (from: number) => connects.filter((at) => at >= from && at < from + 1_000).length
  expect(connects).toHaveLength(1_000)
  expect(Math.max(...connects.map(within))).toBeLessThan(330)
})
