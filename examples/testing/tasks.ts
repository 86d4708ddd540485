import type { LiveQuery, SyncClient, Transaction } from 'instep'

/** What a page of tasks shows: the open ones in order, and a word about how far they can be trusted. */
export interface TaskList {
  readonly titles: readonly string[]
  readonly notice: string
}

/** The tasks of `client`, for any framework: a value, and a way to hear of the next one. */
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
      const undo = [open.subscribe(changed), client.on('status', changed)]
      shown = undefined
      return () => {
        for (const step of undo) step()
      }
    },
    /** Shown at once, and sent when it can be. */
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
