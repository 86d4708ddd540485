import { useClient, usePending } from './session.ts'

/** The writes that the server has refused. They are undone already; the user decides what becomes of each. */
export function Inbox() {
  const { outbox } = useClient()
  return usePending().rejected.map(({ id, label, undoOf, rejection }) => (
    <div className="refused bar" role="alert" key={id}>
      <p>
        <strong>
          {undoOf && 'Undo of: '}
          {label}
        </strong>{' '}
        was refused. {rejection?.message}
      </p>
      <span>
        <button type="button" onClick={() => outbox.retry(id)}>
          Try again
        </button>
        <button type="button" onClick={() => outbox.discard(id)}>
          Discard
        </button>
      </span>
    </div>
  ))
}
