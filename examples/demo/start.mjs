import { readNumber, readOptions, refuseOthers } from '../arguments.mjs'
import { defaultPort, fail } from './options.mjs'
import { createApp } from './server/app.mjs'
import { createAtlas } from './server/atlas.mjs'
import { listen } from './server/listen.mjs'
import { buildPage } from './server/page.mjs'
import { createTerminal } from './server/terminal.mjs'

const usage = 'Usage: npm run demo -- [--port <number>] [--country <code>]'
const help = `Starts the demo of Instep: two users, a cable each, and every town of the world.

${usage}

  --port      the port of the server; 0: any free one (default: ${defaultPort}, or the next free one)
  --country   only the towns of one country, such as IS, which starts faster (default: all)
  --help      print this`

const { port, country } = readOptions({
  usage,
  help,
  options: { port: { type: 'string' }, country: { type: 'string' } },
  check({ port, country }, others) {
    refuseOthers(others)
    return { port: port === undefined ? undefined : readNumber('port', port, 0, 65_535), country }
  },
})

// Replaced once the server runs. The listener itself must not be replaced: a signal in between would be lost.
let stop = () => process.exit(130)
process.once('SIGINT', () => stop())

const number = new Intl.NumberFormat('en')
const terminal = createTerminal(process)
terminal.print('Instep demo')
const atlas = await terminal.step('places', async (onProgress) => {
  const result = await createAtlas({ country, onProgress })
  if (result.places === 0) fail(`There are no towns in ${country}; --country takes a code such as IS.`)
  return { result, summary: `${number.format(result.places)} in ${result.countries} countries` }
})
const page = await terminal.step('page', async () => ({ result: await buildPage(), summary: 'built' }))
const served = await listen({
  app: createApp({ atlas, page }),
  service: atlas.service,
  port,
  defaultPort,
}).catch((error) =>
  fail(
    error.code === 'EADDRINUSE'
      ? `Port ${port ?? defaultPort} is in use. Choose another one with --port.`
      : `The demo cannot be served: ${error.message}`,
  ),
)

const { origin } = new URL(served.url)
const isDefault = new URL(origin).port === String(defaultPort)
stop = async () => {
  await served.close()
  await atlas.service.close()
}
process.once('SIGTERM', stop)
terminal.print(`
  Open ${origin}

  To change rows from another terminal:  npm run demo:change -- --rows 5${isDefault ? '' : ` --url ${origin}`}
  Ctrl-C stops it.`)
