import { taskPageCases } from '../../examples/testing/task-page.cases.tsx'
import { storeContract } from '../../src/storage/contract.ts'
import { BareServer } from '../support/bare-server.ts'
import { faults } from '../support/bare-server-faults.ts'
import { asideCases } from './aside-cases.ts'
import { clientCases } from './client-cases.ts'
import { type BrowserPage, testInBrowser } from './in-browser.ts'
import { lossCases } from './loss-cases.ts'
import type { PageBackend } from './page-server.ts'
import { quotaBytes, roomCases } from './room-cases.ts'
import { sandboxCase } from './sandbox-case.ts'

function backend(): PageBackend {
  const data = new BareServer({ gzip: true })
  return {
    data,
    commands: {
      issue: (user: string) => data.tokens.issue(user),
      expire: (token: string) => data.tokens.expire(token),
      write: (user: string, ops: Parameters<BareServer['write']>[1]) => data.write(user, ops),
      fill: (user: string, count: number) =>
        data.write(
          user,
          Array.from({ length: count }, (_, n) => ({
            op: 'i' as const,
            t: 'Issue',
            id: `i${n}`,
            p: { n, title: `Issue ${n}`, text: 'x'.repeat(200) },
          })),
        ),
      cut: () => data.sockets.end(),
      down() {
        data.failNext(faults.dropped(), { times: 10_000 })
        data.sockets.end()
      },
      up: () => data.heal(),
    },
  }
}

const entry = (name: string) => new URL(`./pages/${name}.ts`, import.meta.url)

const room: BrowserPage = {
  entry: entry('room'),
  cases: roomCases,
  before: async (engine, url) => engine.limit?.(url, quotaBytes),
}

testInBrowser({
  'a client': { entry: entry('client'), cases: clientCases, backend },
  'the store': { entry: entry('storage'), cases: storeContract },
  'cleared data': { entry: entry('loss'), cases: lossCases },
  'a page that is left': { entry: entry('aside'), cases: asideCases },
  'a sandboxed frame': { entry: entry('sandbox'), cases: [sandboxCase] },
  'the example of a test': { entry: entry('testing'), cases: taskPageCases },
  'little room': { ...room, engines: ['chromium'] },
})

// Firefox is told before it starts, and leaves all pages together so much. Nothing here can tell WebKit.
testInBrowser({ 'little room': room }, ['firefox'])
