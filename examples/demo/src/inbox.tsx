import { usePending } from './hooks.ts'
import { RefusedEdit } from './refused-edit.tsx'

/** The edits that the server refused. They stay here, even after a reload, until the user decides. */
export function Inbox() {
  const { rejected } = usePending()
  if (rejected.length === 0) return null
  return (
    <section className="inbox" aria-label="Refused edits">
      {rejected.map((edit) => (
        <RefusedEdit key={edit.id} edit={edit} />
      ))}
    </section>
  )
}
