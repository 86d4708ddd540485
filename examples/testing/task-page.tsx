import type { SyncClient } from 'instep'
import { useMemo, useSyncExternalStore } from 'react'
import { taskList } from './tasks.ts'

/** A page of tasks that renders the current data of the client. */
export function TaskPage({ client }: { readonly client: SyncClient }) {
  const tasks = useMemo(() => taskList(client), [client])
  const { titles, notice } = useSyncExternalStore(tasks.subscribe, tasks.get)
  return (
    <>
      {notice && <p>{notice}</p>}
      <ul>
        {titles.map((title) => (
          <li key={title}>{title}</li>
        ))}
      </ul>
    </>
  )
}
