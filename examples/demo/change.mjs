import { readNumber, readOptions, refuseOthers } from '../arguments.mjs'
import { defaultPort, fail } from './options.mjs'

const usage = 'Usage: npm run demo:change -- [--rows <number>] [--url <address>]'
const help = `Changes rows on the server of a running demo: some places move a little.

${usage}

  --rows   the number of rows, 1 to 10000      (default: 5)
  --url    the address that the demo printed   (default: http://127.0.0.1:${defaultPort})
  --help   print this`

const { rows, url } = readOptions({
  usage,
  help,
  options: {
    rows: { type: 'string', default: '5' },
    url: { type: 'string', default: `http://127.0.0.1:${defaultPort}` },
  },
  check({ rows, url }, others) {
    refuseOthers(others)
    if (!URL.canParse(url)) throw new Error('--url must be an address, such as http://127.0.0.1:5173.')
    return { rows: readNumber('rows', rows, 1, 10_000), url }
  },
})

const response = await fetch(new URL('/change', url), {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ rows }),
}).catch(() =>
  fail(`No demo answers at ${url}; start it with \`npm run demo\`, or pass its address by --url.`),
)

const { sid, error } = await response.json().catch(() => ({}))
if (sid === undefined)
  fail(error ?? `The server at ${url} is not the demo. Pass the address of the demo by --url.`)
console.log(`Changed ${rows} ${rows === 1 ? 'row' : 'rows'}; the server is at position ${sid}.`)
