import { BareServer } from '../support/bare-server.ts'
import { faults } from '../support/bare-server-faults.ts'
import { clientCases } from './client-cases.ts'
import { testInBrowser } from './in-browser.ts'
import type { PageBackend } from './page-server.ts'

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

testInBrowser(new URL('./pages/client.ts', import.meta.url), clientCases, { backend })
