import type { Process } from './process.ts'
import type { Intercept, Simulation } from './simulation.ts'

interface Moment {
  readonly simulation: Simulation
  readonly process: Process
}

const lost = () => new TypeError('fetch failed')
const say =
  (status: number, body = '', headers: HeadersInit = {}) =>
  (): Intercept =>
  async () =>
    new Response(status === 204 ? null : body, { status, headers })

const later = ({ clock }: Simulation, ms: number) =>
  new Promise<void>((resolve) => void clock.after(ms, resolve))

/** What becomes of a request with transactions, other than its answer. */
export const answers: readonly ((moment: Moment) => Intercept)[] = [
  // Lost on the way back, and on the way there.
  () => async (_, pass) => {
    await pass()
    throw lost()
  },
  () => async () => {
    throw lost()
  },
  // Twice at once, and once more later, whatever has become of the service and of the client by then.
  () => async (_, pass) => {
    const [answer] = await Promise.all([pass(), pass()])
    return answer
  },
  ({ simulation }) =>
    async (_, pass) => {
      void later(simulation, 7_000).then(pass)
      return pass()
    },
  // Slow on the way back, and on the way there, so that it arrives when nobody waits for it any more.
  ({ simulation }) =>
    async (_, pass) => {
      const answer = await pass()
      await later(simulation, 2_000)
      return answer
    },
  ({ simulation, process }) =>
    async (_, pass) => {
      await later(simulation, 2_000)
      process.network.killSockets()
      return pass()
    },
  // Only some of the verdicts.
  () => async (_, pass) => {
    const answer = await pass()
    if (answer.status !== 200) return answer
    const { sid, results } = await answer.json()
    return Response.json({ sid, results: results.slice(0, 1) })
  },
  say(500),
  say(503, '', { 'retry-after': '2' }),
  say(429),
  say(401),
  say(403, '<h1>Sign in to the hotel network</h1>'),
  say(404),
  say(413),
  say(200, '<h1>Welcome</h1>', { 'content-type': 'text/html' }),
  say(204),
]
