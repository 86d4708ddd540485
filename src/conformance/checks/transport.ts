import { jsonEqual } from '../../protocol/json.ts'
import type { Check } from '../check.ts'
import type { Context } from '../context.ts'
import type { As } from '../credentials.ts'
import type { Answer } from '../wire.ts'

/** Of a page that is not the server's. */
const origin = 'https://conformance.example'

/** Servers do not compress what is shorter, in characters. */
const minCompressed = 4_096

const corsRule =
  'Every response of an endpoint, failures and preflights included, carries CORS headers and `Cache-Control: no-store`; `Retry-After` is exposed.'

export const transportChecks: readonly Check[] = [
  {
    name: 'transport/gzip',
    title: 'A compressed snapshot is the same as one that is not.',
    paragraph: 'Snapshot',
    rule: 'The response may be compressed in transit.',
    needs: ['token'],
    async run(context) {
      // Servers compress only what is long.
      if (context.canInsert)
        await context.write(Array.from({ length: 40 }, () => context.insertion(context.record())))
      const compressed = await context.get('/bootstrap', 'token', { 'accept-encoding': 'gzip' })
      const { 'content-encoding': encoding } = compressed.headers
      context.hold(
        compressed.json !== undefined,
        'The response can be decompressed, and is JSON.',
        undefined,
        compressed.exchange,
      )
      const plain = await context.get('/bootstrap', 'token', { 'accept-encoding': 'identity' })
      const { 'content-encoding': other = 'identity' } = plain.headers
      context.hold(
        other === 'identity',
        'A client that accepts no compression gets none.',
        `The response is in ${other}.`,
      )
      if (encoding === undefined || encoding === 'identity') {
        if (plain.text.length < minCompressed) context.untested('The snapshot is too short to be compressed.')
        context.leftOut('compression')
      }
      context.hold(
        encoding === 'gzip',
        'The encoding is one that the request accepts.',
        `It is ${encoding}.`,
        compressed.exchange,
      )
      const again = await context.get('/bootstrap', 'token', { 'accept-encoding': 'gzip' })
      const isQuiet = [compressed, again].every(({ json }) => sidOf(json) === sidOf(plain.json))
      if (isQuiet)
        context.hold(sameRows(compressed, plain), 'Both have the same rows.', undefined, compressed.exchange)
    },
    phase: 'alone',
  },
  {
    name: 'transport/not-cached',
    title: 'No response may be cached.',
    paragraph: 'Failures',
    rule: corsRule,
    needs: ['token'],
    async run(context) {
      for (const { name, answer } of await responses(context)) {
        const { 'cache-control': cache = '' } = answer.headers
        context.hold(
          /\bno-store\b/.test(cache),
          `The response to ${name} has \`Cache-Control: no-store\`.`,
          undefined,
          answer.exchange,
        )
      }
    },
  },
  {
    name: 'transport/preflight',
    title: 'A preflight needs no token, and lets a page send its headers.',
    paragraph: 'Failures',
    rule: 'A preflight needs no credentials.',
    needs: [],
    async run(context) {
      const paths = ['/bootstrap', '/delta?since=0', ...(context.offer.tx ? ['/tx'] : [])]
      const answers = await Promise.all(paths.map((path) => preflight(context, path)))
      if (answers.every((answer) => !allows(answer)) && !(await anyAllows(context))) context.leftOut('CORS')
      for (const answer of answers) {
        const { status, exchange, headers } = answer
        context.hold(status >= 200 && status < 300, 'The status is 2xx.', `It is ${status}.`, exchange)
        context.hold(allows(answer), 'The preflight allows the origin.', undefined, exchange)
        const allowed = (headers['access-control-allow-headers'] ?? '').toLowerCase().split(/\s*,\s*/)
        // `*` does not cover `Authorization` (Fetch standard, section 3.3.4).
        const wanted = [context.offer.scheme === 'bearer' ? 'authorization' : 'x-api-key', 'content-type']
        const missing = wanted.find((name) => !allowed.includes(name))
        context.hold(
          missing === undefined,
          `\`Access-Control-Allow-Headers\` has \`${missing}\`.`,
          undefined,
          exchange,
        )
      }
    },
  },
  {
    name: 'transport/cors',
    title: 'A page on another origin can read all responses, also those without valid credentials.',
    paragraph: 'Failures',
    rule: corsRule,
    needs: ['token'],
    async run(context) {
      const answers = await responses(context)
      if (answers.every(({ answer }) => !allows(answer))) context.leftOut('CORS')
      for (const { name, answer } of answers)
        context.hold(
          allows(answer),
          `The response to ${name} has \`Access-Control-Allow-Origin\`, as others have.`,
          undefined,
          answer.exchange,
        )
    },
  },
  {
    name: 'transport/cors-with-cookies',
    title: 'A response that allows cookies names the origin, and says that it varies.',
    paragraph: 'Failures',
    rule: corsRule,
    needs: ['token'],
    async run(context) {
      const answers = await responses(context)
      if (answers.every(({ answer }) => !allows(answer))) context.leftOut('CORS')
      for (const { answer } of answers) {
        const { headers, exchange } = answer
        const allowed = headers['access-control-allow-origin']
        if (headers['access-control-allow-credentials'] === 'true')
          context.hold(
            allowed !== '*',
            '`Access-Control-Allow-Origin` is no `*` if credentials are allowed: browsers refuse that.',
            undefined,
            exchange,
          )
        if (allowed === origin)
          context.hold(
            /\borigin\b|\*/i.test(headers.vary ?? ''),
            '`Vary` has `Origin`, since the header depends on it.',
            undefined,
            exchange,
          )
      }
    },
  },
]

function preflight(context: Context, path: string): Promise<Answer> {
  const headers = {
    origin,
    'access-control-request-method': path === '/tx' ? 'POST' : 'GET',
    'access-control-request-headers': 'authorization,content-type',
  }
  return context.wire.send({ method: 'OPTIONS', path, as: 'none', headers })
}

/** A response of each endpoint, and of each kind of failure, as a page gets it. */
async function responses(
  context: Context,
): Promise<readonly { readonly name: string; readonly answer: Answer }[]> {
  const requests: readonly (readonly [name: string, path: string, as: As])[] = [
    ['a snapshot', '/bootstrap', 'token'],
    ['a delta', '/delta?since=9007199254740991', 'token'],
    ['a wrong `since`', '/delta?since=x', 'token'],
    ['a request without a token', '/bootstrap', 'none'],
    ['a delta with a wrong token', '/delta?since=0', 'wrong'],
  ]
  const answers = await Promise.all(
    requests.map(async ([name, path, as]) => ({ name, answer: await context.get(path, as, { origin }) })),
  )
  if (!context.offer.tx) return answers
  const sent = async (name: string, as: As) => ({
    name,
    answer: await context.wire.send({ path: '/tx', as, body: '{"txs":[]}', headers: { origin } }),
  })
  return [
    ...answers,
    await sent('a wrong body', 'token'),
    await sent('a transaction without a token', 'none'),
  ]
}

async function anyAllows(context: Context): Promise<boolean> {
  return allows(await context.get('/bootstrap', 'token', { origin }))
}

function allows({ headers }: Answer): boolean {
  const allowed = headers['access-control-allow-origin']
  return allowed === '*' || allowed === origin
}

function sidOf(json: unknown): unknown {
  return (json as { readonly sid?: unknown } | undefined)?.sid
}

function sameRows(one: Answer, other: Answer): boolean {
  const rowsOf = ({ json }: Answer) => (json as { readonly rows?: unknown }).rows
  const sorted = (rows: unknown) =>
    Array.isArray(rows) ? rows.map((row) => JSON.stringify(row)).sort() : rows
  return jsonEqual(sorted(rowsOf(one)), sorted(rowsOf(other)))
}
