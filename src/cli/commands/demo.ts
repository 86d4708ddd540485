import { resolveEnvironment } from '../../base/environment.default.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { jwtAuthentication } from '../../server/auth/jwt.ts'
import { signToken } from '../../server/auth/sign-token.ts'
import { createSyncService } from '../../server/create-sync-service.ts'
import type { Command } from '../command.ts'
import { addressIn, addressOptions, listen, untilSignal } from '../listen.ts'
import { loggerIn, logOptions } from '../log.ts'
import { configOption } from '../settings.ts'

const users = ['ada', 'bob'] as const

const tasks = ['Read the getting started', 'Open a second client', 'Write while offline']

export const demo: Command = {
  name: 'demo',
  about: 'Serves a few tasks of two users from memory, and explains how to try it.',
  options: { ...addressOptions, ...logOptions, config: configOption },
  notes: ['Tokens are signed with a new secret at each start. The data is lost when the process ends.'],
  async run(settings, shell) {
    const { random } = resolveEnvironment()
    const logger = await loggerIn(settings, shell)
    const secret = Buffer.from(random.bytes(32)).toString('base64url')
    const authenticate = jwtAuthentication({ secret })
    const service = createSyncService({ database: 'memory:', authenticate, ownerField: 'userId', logger })
    const tokenOf = (userId: string) => signToken({ secret, userId, lifetimeMs: 86_400_000 })
    try {
      await service.write(users.flatMap(tasksOf))
      const served = await listen(service, { ...addressIn(settings), logger })
      const [ada, bob] = await Promise.all([tokenOf('ada'), tokenOf('bob')])
      shell.stdout.write(`listening on ${served.url}\n${introduction(served.url, ada, bob)}`)
      await untilSignal(shell)
      await served.close()
    } finally {
      await service.close()
    }
  },
}

function tasksOf(userId: string): readonly TxOp[] {
  return tasks.map((title, index) => ({
    op: 'i',
    t: 'Task',
    id: `${userId}-${index + 1}`,
    p: { userId, title, done: false },
  }))
}

function introduction(url: string, ada: string, bob: string): string {
  return `
Two users, each with three tasks and a token that is valid for a day:

ada  ${ada}
bob  ${bob}

The first request of a client for ada:

curl -H 'Authorization: Bearer ${ada}' ${url}/bootstrap

A client for ada. Save it as demo.mjs in a folder in which the package instep is installed, and run it in two
terminals: each adds a task, and both show it.

import { memoryStore, SyncClient } from 'instep'

const client = new SyncClient({
  baseUrl: '${url}',
  token: '${ada}',
  identity: 'ada',
  store: memoryStore(),
})
client.query('Task', { orderBy: ['title'] }).subscribe(({ rows }) => {
  console.log(rows.map(({ title }) => title))
})
await client.start()
await client.ready()
client.mutate((m) => {
  m.insert('Task', { title: \`Added by process \${process.pid}\`, done: false })
})

Control-C ends it.
`
}
