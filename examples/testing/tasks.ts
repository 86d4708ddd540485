import type { LiveQuery, SyncClient, Transaction } from 'instep'

/** The content of a page of tasks: the titles of the open tasks in order, and a notice about the state of the data. */
export interface TaskList {
  readonly titles: readonly string[]
  readonly notice: string
}

/** The tasks of `client`, for any framework: a value that stays the same until it changes, and a subscription. */
export function taskList(client: SyncClient) {
  const open: LiveQuery = client.query('Task', { where: { done: false }, orderBy: 'title' })
  let shown: TaskList | undefined
  return {
    get(): TaskList {
      shown ??= { titles: open.rows.map(({ title }) => String(title)), notice: noticeOf(client) }
      return shown
    },
    subscribe(listener: () => void): () => void {
      const changed = () => {
        shown = undefined
        listener()
      }
      const unsubscribes = [open.subscribe(changed), client.on('status', changed)]
      shown = undefined
      return () => {
        for (const unsubscribe of unsubscribes) unsubscribe()
      }
    },
    /** Adds a task. The page shows the task at once, and the client sends it when the server is reachable. */
    add(title: string): Transaction {
      return client.mutate((m) => m.insert('Task', { title, done: false }))
    },
  }
}

function noticeOf({ status: { connection, data } }: SyncClient): string {
  if (connection.state === 'unauthenticated') return 'Please sign in again.'
  if (connection.state === 'offline') return 'Offline: this is what was known last.'
  return data.state === 'current' ? '' : 'Loading…'
}
