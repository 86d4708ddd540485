import type { Check, EndpointNeed, OptionNeed } from '../check.ts'
import type { Context } from '../context.ts'
import type { As } from '../credentials.ts'
import type { Exchange } from '../exchange.ts'
import type { Answer } from '../wire.ts'

type Endpoint = 'bootstrap' | 'delta' | 'tx' | 'socket'

const endpoints: readonly Endpoint[] = ['bootstrap', 'delta', 'tx', 'socket']

const nameOf: Readonly<Record<Endpoint, string>> = {
  bootstrap: '`GET /bootstrap`',
  delta: '`GET /delta`',
  tx: '`POST /tx`',
  socket: 'the socket',
}

const needOf: Readonly<Record<Endpoint, readonly EndpointNeed[]>> = {
  bootstrap: [],
  delta: [],
  tx: ['tx'],
  socket: ['ws'],
}

/** Whose credentials are refused, what to call them, and the option that they need. */
const refused: readonly (readonly [As, name: string, text: string, needs: readonly OptionNeed[]])[] = [
  ['none', 'none', 'no token', []],
  ['wrong', 'wrong', 'a token that nobody issued', []],
  ['tampered', 'tampered', 'a token with one other character', ['token']],
  ['expired-token', 'expired', 'an expired token', ['expired-token']],
]

/** How long a server may take to close a socket that it opened before it looked at the credentials, in ms. */
const closingMs = 2_000

const rule = 'The response to a request without valid credentials is 401, also for the upgrade of a socket.'

const refusals = endpoints.flatMap((endpoint) =>
  refused.map(
    ([as, name, text, needs]): Check => ({
      name: `credentials/${name}-${endpoint}`,
      title: `${capital(nameOf[endpoint])} refuses ${text}.`,
      paragraph: 'Credentials',
      rule,
      needs: [...needOf[endpoint], ...needs],
      run: (context) => holdRefused(context, endpoint, as),
    }),
  ),
)

export const credentialChecks: readonly Check[] = [
  ...refusals,
  {
    name: 'credentials/header',
    title: 'The token in the header is accepted by every endpoint.',
    paragraph: 'Credentials',
    rule: '`Authorization: Bearer <token>`, or `X-API-Key: <key>`',
    needs: ['token'],
    async run(context) {
      for (const path of ['/bootstrap', '/delta?since=0']) {
        const { status } = await context.get(path)
        context.hold(
          status !== 401 && status !== 403,
          'The token of `--token` is accepted.',
          `The status is ${status}.`,
        )
      }
      if (!context.offer.tx) return
      const { status } = await context.post({ txs: [] })
      context.hold(
        status !== 401 && status !== 403,
        'The token of `--token` is accepted.',
        `The status is ${status}.`,
      )
    },
  },
  {
    name: 'credentials/socket-header',
    title: 'The socket opens with the token in the header.',
    paragraph: 'Credentials',
    rule: 'the same header where the runtime can set one, otherwise the query parameter `token`',
    needs: ['ws', 'token'],
    run: (context) => holdOpen(context, { where: 'header' }),
  },
  {
    name: 'credentials/socket-query',
    title: 'The socket opens with the token in the query, as browsers send it.',
    paragraph: 'Credentials',
    rule: 'the same header where the runtime can set one, otherwise the query parameter `token`',
    needs: ['ws', 'token'],
    async run(context) {
      if (context.offer.scheme === 'api-key')
        context.untested('The server takes keys, which go into a header only.')
      await holdOpen(context, { where: 'query' })
    },
  },
  {
    name: 'credentials/header-before-query',
    title: 'A valid token in the query does not help a wrong one in the header of a socket.',
    paragraph: 'Credentials',
    rule: 'The query parameter is read for the socket only, and only when there is no header token.',
    needs: ['ws', 'token'],
    async run(context) {
      const { status, exchange, isOpen } = await openingOf(context, {
        as: 'wrong',
        where: 'both',
        queryAs: 'token',
      })
      context.hold(
        !isOpen,
        'The socket is refused, by the token in the header.',
        `The status is ${status}.`,
        exchange,
      )
    },
  },
  ...(['bootstrap', 'delta'] as const).map(
    (endpoint): Check => ({
      name: `credentials/query-${endpoint}`,
      title: `${capital(nameOf[endpoint])} takes no token from the query, which proxies log.`,
      paragraph: 'Credentials',
      rule: 'The query parameter is read for the socket only, and only when there is no header token.',
      needs: ['token'],
      async run(context) {
        const token = encodeURIComponent(context.wire.credentials.textOf('token'))
        const path = endpoint === 'bootstrap' ? `/bootstrap?token=${token}` : `/delta?since=0&token=${token}`
        hold401(context, await context.get(path, 'none'))
      },
    }),
  ),
  {
    name: 'credentials/before-anything',
    title: 'Without a token, a request that is wrong in another way is a 401, too.',
    paragraph: 'Credentials',
    rule: 'Every request is authenticated before anything else happens.',
    needs: [],
    async run(context) {
      hold401(context, await context.get('/delta?since=nonsense', 'none'))
      hold401(context, await context.get('/delta', 'wrong'))
      if (context.offer.tx) hold401(context, await context.post('{', 'none'))
    },
  },
  {
    name: 'credentials/not-applied',
    title: 'A transaction with a wrong token changes nothing.',
    paragraph: 'Credentials',
    rule: 'Every request is authenticated before anything else happens.',
    needs: ['tx', 'token', 'insert'],
    async run(context) {
      const { sid } = await context.snapshot()
      const records = [context.record(), context.record()]
      for (const [at, as] of (['none', 'wrong'] as const).entries()) {
        const ops = records.slice(at, at + 1).map((record) => context.insertion(record))
        hold401(context, await context.post({ txs: [context.tx(ops)] }, as))
      }
      await context.holdNoTrace(records, sid, 'Nothing was changed.')
    },
  },
  {
    name: 'credentials/not-shown',
    title: 'The response to a wrong token does not repeat it.',
    paragraph: 'Credentials',
    rule: 'They are in no log, no error and no HTTP URL.',
    needs: [],
    async run(context) {
      const { text, headers } = await context.get('/bootstrap', 'wrong')
      const all = `${text} ${Object.values(headers).join(' ')}`
      context.hold(!context.wire.credentials.isIn(all), 'The response does not contain the token.')
    },
  },
]

async function holdRefused(context: Context, endpoint: Endpoint, as: As): Promise<void> {
  if (endpoint === 'bootstrap') return hold401(context, await context.get('/bootstrap', as))
  if (endpoint === 'delta') return hold401(context, await context.get('/delta?since=0', as))
  if (endpoint === 'tx') return hold401(context, await context.post({ txs: [] }, as))
  for (const where of ['header', 'query'] as const) {
    const { status, isOpen, code, exchange } = await openingOf(context, { as, where })
    context.hold(!isOpen, 'The socket is refused.', `It opened with the token in the ${where}.`, exchange)
    const isRight = status === 401 || (status === 101 && code === 4401)
    context.hold(
      isRight,
      'The socket is refused with 401.',
      `The status is ${status}, for a token in the ${where}.`,
      exchange,
    )
  }
}

async function holdOpen(context: Context, options: { readonly where: 'header' | 'query' }): Promise<void> {
  const { status, isOpen, exchange } = await openingOf(context, options)
  context.hold(isOpen, 'The socket opens.', `The status is ${status}.`, exchange)
}

interface Opened {
  readonly status: number
  readonly isOpen: boolean
  readonly code: number | undefined
  readonly exchange: Exchange
}

/** Opens a socket. Waits a little, since some runtimes open it before anything is checked, and close it then. */
async function openingOf(context: Context, options: Parameters<Context['open']>[0]): Promise<Opened> {
  const { status, listener, exchange } = await context.open(options)
  if (!listener) return { status, isOpen: false, code: undefined, exchange }
  const isValid = (options?.as ?? 'token') === 'token'
  const code = await listener.until(isValid ? 100 : closingMs, () => listener.closed)
  return { status, isOpen: code === undefined, code, exchange }
}

function hold401(context: Context, { status, exchange }: Answer): void {
  context.hold(status === 401, 'The status is 401.', `It is ${status}.`, exchange)
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
