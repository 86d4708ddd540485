import type { FormEvent } from 'react'
import { useClient, useLiveQuery } from './session.ts'

/** Private notes. The service sets their owner: the user. */
export function Notes() {
  const client = useClient()
  const { rows } = useLiveQuery('Note')
  const add = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get('text')).trim()
    event.currentTarget.reset()
    if (text !== '') client.mutate((m) => m.insert('Note', { text }), { label: 'Add a note' })
  }
  const remove = (id: string) => client.mutate((m) => m.delete('Note', id), { label: 'Delete a note' })
  return (
    <section className="card" aria-label="My notes">
      <h2>
        My notes <small>only for me</small>
      </h2>
      <ul>
        {rows.map(({ id, text }) => (
          <li key={id}>
            <span className="text">{text}</span>
            <button type="button" onClick={() => remove(id)} aria-label={`Delete ${text}`}>
              Delete
            </button>
          </li>
        ))}
      </ul>
      <form onSubmit={add} aria-label="New note">
        <input className="text" name="text" placeholder="A note" aria-label="Note" />
        <button type="submit">Add</button>
      </form>
    </section>
  )
}
