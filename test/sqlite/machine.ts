import type { SyncClient, SyncClientOptions } from '../../src/index.ts'
import { ownServer } from '../support/own-server.ts'
import { ownFolder, ownSqliteStore } from '../support/sqlite.ts'

export interface Process {
  readonly client: SyncClient
  readonly disconnect: () => void
  readonly reconnect: () => void
  /** It stands still: none of its timers fires, and it receives nothing. */
  readonly freeze: () => void
  readonly thaw: () => void
}

/** Processes of one machine whose clients have one file. Each has a connection of its own to the server. */
export async function machine() {
  const server = ownServer()
  await server.write([{ op: 'i', t: 'Note', id: 'n0', p: {} }], 'ada')
  const folder = ownFolder()
  const start = async (options: Partial<SyncClientOptions> = {}): Promise<Process> => {
    const device = server.device()
    let waiting: (() => void)[] | undefined
    const client = device.client({
      store: ownSqliteStore(folder),
      pollInterval: 600_000,
      ...options,
      identity: options.identity ?? 'ada',
      environment: {
        clock: {
          now: () => server.clock.now(),
          pause: () => server.clock.pause(),
          after: (ms, callback) =>
            server.clock.after(ms, () => {
              if (waiting) waiting.push(callback)
              else callback()
            }),
        },
      },
    })
    await server.clock.until(client.start())
    await server.settle()
    return {
      client,
      disconnect: () => device.disconnect(),
      reconnect: () => device.reconnect(),
      freeze() {
        waiting = []
        device.disconnect()
      },
      thaw() {
        const due = waiting ?? []
        waiting = undefined
        device.reconnect()
        for (const callback of due) callback()
      },
    }
  }
  return {
    server,
    folder,
    start,
    insert: async (id: string) => {
      await server.write([{ op: 'i', t: 'Note', id, p: {} }], 'ada')
      await server.settle()
    },
    /** The ids of what the server has. */
    ids: async () => (await server.rows('ada')).map(({ id }) => id).sort(),
    /** How often the endpoint was asked. */
    asked: (endpoint: string) => server.requests.filter((request) => request.endpoint === endpoint).length,
  }
}

export const rolesOf = (...processes: readonly Process[]) => processes.map(({ client }) => client.status.role)

export const notesIn = ({ client }: Process) =>
  client.query('Note', { orderBy: 'id' }).rows.map(({ id }) => id)

export const write = ({ client }: Process, id: string) => client.mutate((m) => m.insert('Note', { id }))
