import type { Clock } from 'instep'

/** What an answer needs to know of the device that asked. */
export interface Line {
  readonly clock: Clock
  /** Ends the sockets of the device without a closing handshake. */
  killSockets(): void
}

/** Handles a request. `pass` sends the request to the server. */
export type Answer = (pass: () => Promise<Response>, line: Line) => Promise<Response>

const wait = ({ clock }: Line, ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve))
const broken = () => new TypeError('The connection broke.')

const status =
  (code: number, body = '', headers: HeadersInit = {}): Answer =>
  async () =>
    new Response(code === 204 ? null : body, { status: code, headers })

export const lost: Answer = async (pass) => {
  await pass()
  throw broken()
}

export const late: Answer = async (pass, line) => {
  const response = await pass()
  await wait(line, 2_000)
  return response
}

/** The first `share` of the body, and then an end as the network or the server makes it. */
const truncated =
  (share: number, ending: 'breaks' | 'ends' | 'stalls'): Answer =>
  async (pass) => {
    const response = await pass()
    const bytes = new Uint8Array(await response.arrayBuffer())
    let isSent = false
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (!isSent) controller.enqueue(bytes.subarray(0, Math.floor(bytes.length * share)))
        else if (ending === 'breaks') controller.error(new TypeError('terminated'))
        else if (ending === 'ends') controller.close()
        isSent = true
      },
    })
    return new Response(body, { status: response.status, headers: response.headers })
  }

/** What a network, a proxy or a broken server can do with any request. */
export const answers: readonly Answer[] = [
  lost,
  late,
  async () => {
    throw broken()
  },
  () => new Promise(() => {}),
  truncated(0, 'breaks'),
  truncated(0.5, 'breaks'),
  truncated(0.9, 'ends'),
  truncated(0.1, 'stalls'),
  async (pass) => new Response(`${await (await pass()).text()}]`),
  status(200, '<h1>Sign in to the hotel network</h1>', { 'content-type': 'text/html' }),
  status(200, '{}'),
  status(200, '{"sid":"1","frames":[]}'),
  status(200, '{"sid":1152921504606846976,"frames":[]}'),
  status(204),
  status(302, '', { location: '/sign-in' }),
  status(400),
  status(401),
  status(403, '<h1>Sign in to the hotel network</h1>'),
  status(404),
  status(409),
  status(413),
  status(429, '', { 'retry-after': '10' }),
  status(500),
  status(503, '', { 'retry-after': '20' }),
]

/** What can happen to a request with transactions only: it arrives more than once, late, or gets part of the results. */
export const answersToWrites: readonly Answer[] = [
  async (pass) => {
    const [response] = await Promise.all([pass(), pass()])
    return response
  },
  async (pass, line) => {
    const again = () => pass().catch(() => {})
    void wait(line, 7_000).then(again)
    return pass()
  },
  async (pass, line) => {
    await wait(line, 2_000)
    line.killSockets()
    return pass()
  },
  async (pass) => {
    const response = await pass()
    if (response.status !== 200) return response
    const { sid, results } = await response.json()
    return Response.json({ sid, results: results.slice(0, 1) })
  },
]

/** What can arrive on a socket, and is no change. */
export const noise: readonly unknown[] = [
  'ping',
  [],
  7,
  { changed: true },
  { sid: 1 },
  { hello: { sid: 0, heartbeatMs: 20_000 } },
  { since: Number.MAX_SAFE_INTEGER, sid: Number.MAX_SAFE_INTEGER, frames: [] },
]
