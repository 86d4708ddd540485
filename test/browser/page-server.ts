import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Deferred } from '../../src/base/deferred.ts'
import { type BareServer, barePrefix } from '../support/bare-server.ts'
import { answer, takeUpgrades } from '../support/bare-server-listen.ts'

/** What a page tells the test. */
export interface Message {
  readonly type: string
  readonly name?: string
  readonly error?: string
  readonly value?: unknown
}

/** Serves one page, whose script is bundled from TypeScript. */
export interface PageServer {
  readonly url: string
  /** The next message of this type that nobody took yet. Rejects with what a page failed of, if one did. */
  next(type: string): Promise<Message>
  /** Sends the page, which has run its cases, to another address. */
  sendTo(url: string): void
  close(): Promise<void>
}

const html =
  '<!doctype html><meta charset="utf-8"><title>test</title><script type="module" src="/page.js"></script>'

/** Goes back to the page that it was opened from: when the test says so to the tab of the address, or after a moment. */
const away = `<!doctype html><title>away</title><script>
  const tab = new URLSearchParams(location.search).get('tab')
  const post = (path, body) => fetch(path, { method: 'POST', body: JSON.stringify(body) })
  onload = async () => {
    if (tab) {
      await post('/', { type: tab + ' away' })
      await post('/command', { name: 'next', args: [tab + ' back'] })
    } else await new Promise((resolve) => setTimeout(resolve, 200))
    history.back()
  }
</script>`

/** What the page may ask for by `command`, and a server of data at the address of the page, if it has one. */
export interface PageBackend {
  readonly data?: BareServer
  readonly commands: { readonly [name: string]: (...args: never[]) => unknown }
}

/** Packages by their names in the sources, and by the names of those that stand in for them. */
export interface Aliases {
  readonly [name: string]: string
}

export async function servePage(entry: URL, backend?: PageBackend, alias?: Aliases): Promise<PageServer> {
  const script = await bundled(entry, alias)
  const mailbox = new Mailbox()
  const following = new Deferred<string>()
  const server = createServer(async (request, response) => {
    response.setHeader('Cache-Control', 'no-store')
    if (backend?.data && request.url?.startsWith(barePrefix)) {
      answer(backend.data, request, response)
    } else if (backend && request.method === 'POST' && request.url === '/command') {
      const { name, args } = JSON.parse(await text(request))
      response.end(JSON.stringify((await backend.commands[name]?.(...(args as never[]))) ?? null))
    } else if (request.url === '/following') {
      response.end(await following.promise)
    } else if (request.url === '/clear') {
      // All that pages of this origin have stored, as a user may in the settings.
      response.setHeader('Clear-Site-Data', '"storage"').end()
    } else if (request.method === 'POST') {
      mailbox.add(await messageOf(request))
      response.end()
    } else if (request.url === '/page.js') {
      // A sandboxed frame is of another origin.
      response.setHeader('Access-Control-Allow-Origin', '*')
      response.setHeader('Content-Type', 'text/javascript').end(script)
    } else if (request.url?.startsWith('/away')) {
      response.setHeader('Content-Type', 'text/html').end(away)
    } else {
      // A page of `no-store` is not kept when it is left.
      response.setHeader('Cache-Control', 'no-cache')
      response.setHeader('Content-Type', 'text/html').end(html)
    }
  })
  if (backend?.data) takeUpgrades(backend.data, server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    next: (type) => mailbox.next(type),
    sendTo: following.resolve,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const bundles = new Map<string, Promise<string>>()

/** Bundles each page once. */
function bundled(entry: URL, alias: Aliases = {}): Promise<string> {
  const key = JSON.stringify([entry.href, alias])
  const script = bundles.get(key) ?? bundle(entry, alias)
  bundles.set(key, script)
  return script
}

async function bundle(entry: URL, alias: Aliases): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    sourcemap: 'inline',
    alias: {
      ...alias,
      '#websocket': fileURLToPath(new URL('../../src/base/websocket.native.ts', import.meta.url)),
    },
    logLevel: 'error',
  })
  return outputFiles[0]?.text ?? ''
}

async function messageOf(request: IncomingMessage): Promise<Message> {
  return JSON.parse(await text(request))
}

interface Taker {
  readonly type: string
  take(message: Message): void
  reject(error: Error): void
}

/** Messages that wait for a taker, and takers that wait for a message. */
export class Mailbox {
  readonly #messages: Message[] = []
  readonly #takers: Taker[] = []
  #failure: Error | undefined

  add(message: Message): void {
    if (message.type === 'failed') this.#fail(new Error(`The page failed: ${message.error}`))
    const index = this.#takers.findIndex(({ type }) => type === message.type)
    const [taker] = index < 0 ? [] : this.#takers.splice(index, 1)
    if (taker) taker.take(message)
    else this.#messages.push(message)
  }

  async next(type: string): Promise<Message> {
    if (this.#failure) throw this.#failure
    const index = this.#messages.findIndex((message) => message.type === type)
    const [message] = index < 0 ? [] : this.#messages.splice(index, 1)
    return message ?? new Promise((take, reject) => this.#takers.push({ type, take, reject }))
  }

  #fail(error: Error): void {
    this.#failure ??= error
    for (const taker of this.#takers.splice(0)) taker.reject(error)
  }
}
