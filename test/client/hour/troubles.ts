import { type BareFault, faults } from '../../support/bare-server-faults.ts'
import type { Hour } from './hour.ts'

type Some<T> = readonly [T, ...T[]]

/** All that the server knows to answer wrongly, each in its ways. */
const answers: { readonly [Kind in keyof typeof faults]: Some<BareFault> } = {
  answer: [
    faults.answer(500),
    faults.answer(403),
    faults.answer(400),
    faults.answer(404),
    faults.answer(409),
    faults.answer(503, '', { 'retry-after': '20' }),
    faults.answer(200, '{}'),
    faults.answer(200, '{"sid":"1","frames":[]}'),
    faults.answer(200, '{"sid":1152921504606846976,"frames":[]}'),
  ],
  portal: [faults.portal()],
  noContent: [faults.noContent()],
  gone: [faults.gone()],
  tooMany: [faults.tooMany('10'), faults.tooMany('Thu, 01 Jan 2026 00:30:00 GMT')],
  redirect: [faults.redirect('/sign-in'), faults.redirect('https://elsewhere.example.com/')],
  brokenJson: [faults.brokenJson()],
  badGzip: [faults.badGzip()],
  truncated: [faults.truncated(0.5), faults.truncated(0.9, 'whole'), faults.truncated(0.1, 'stalled')],
  dropped: [faults.dropped()],
  silent: [faults.silent()],
}

const kinds = Object.keys(answers) as unknown as Some<keyof typeof answers>

/** What is said on a socket, and is no change. */
const noise: Some<string> = [
  'ping',
  '{',
  '[]',
  '7',
  '{"changed":true}',
  '{"sid":1}',
  '{"hello":{"sid":0,"heartbeatMs":20000}}',
  '{"since":9007199254740991,"sid":9007199254740991,"frames":[]}',
]

const aDay = 86_400_000

/** What may happen at any time, and how often beside the others. */
const happenings: readonly (readonly [share: number, (hour: Hour) => void])[] = [
  [8, write],
  [6, failRequests],
  [1, ({ server }) => server.failNext(faults.gone(), { path: '/delta' })],
  [2, (hour) => hour.server.sockets.end(hour.pick([undefined, 1001, 1011, 1012, 1013, 4401]))],
  [2, (hour) => hour.server.sockets.send('ada', hour.pick(noise))],
  [1, ({ server: { sockets } }) => Object.assign(sockets, { silent: !sockets.silent })],
  [1, ({ network }) => network.cut()],
  [1, ({ network }) => network.blackHole()],
  [6, ({ network }) => network.mend()],
  [2, ({ network }) => network.killSockets()],
  [1, (hour) => Object.assign(hour.network, { latencyMs: hour.pick([0, 20, 300, 4_000]) })],
  [1, (hour) => Object.assign(hour.network, { chunkMs: hour.pick([0, 0, 300]) })],
  [
    2,
    (hour) => hour.environment.lifecycle.set({ online: hour.random() < 0.8, visible: hour.random() < 0.8 }),
  ],
  [2, (hour) => hour.itsClock.jump(hour.pick([-aDay, -3_600_000, -1_000, 1_000, 60_000, aDay]))],
  [1, ({ mount }) => mount.down()],
  [5, ({ mount }) => mount.up()],
  [2, (hour) => hour.expireToken()],
  [3, (hour) => hour.signIn()],
  [1, ({ server: { behaviour } }) => Object.assign(behaviour, { hold: !behaviour.hold })],
  [2, (hour) => hour.server.held.splice(Math.floor(hour.random() * hour.server.held.length), 1)[0]?.send()],
  [1, (hour) => hour.server.held.at(-1)?.send()],
  [2, (hour) => hour.watch(hour.client.sync())],
  [1, (hour) => hour.watch(hour.client.stop())],
  [6, (hour) => hour.watch(hour.client.start())],
]

const total = happenings.reduce((sum, [share]) => sum + share, 0)

export function somethingHappens(hour: Hour): void {
  let left = hour.random() * total
  const chosen = happenings.find(([share]) => {
    left -= share
    return left < 0
  })
  chosen?.[1](hour)
}

function write(hour: Hour): void {
  const { data } = hour.server
  const target = { t: 'Issue', id: hour.pick(['a', 'b', 'c', 'd', 'e', 'f']) }
  const isThere = data.rows('ada').some(({ id }) => id === target.id)
  const p = { n: hour.next() }
  if (!isThere) hour.server.write('ada', [{ op: 'i', ...target, p }])
  else hour.server.write('ada', [hour.random() < 0.3 ? { op: 'd', ...target } : { op: 'u', ...target, p }])
}

function failRequests(hour: Hour): void {
  hour.server.failNext(hour.pick(answers[hour.pick(kinds)]), {
    times: hour.pick([1, 1, 2, 5]),
    path: hour.pick(['/delta', '/bootstrap', '/ws', '']),
  })
}
