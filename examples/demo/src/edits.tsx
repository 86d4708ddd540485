import { EditRow } from './edit-row.tsx'
import { steps } from './edit-steps.ts'
import type { Reader } from './reader.ts'
import { useStore } from './store.ts'

/** The user's last edits, with the state of each. */
export function Edits({ reader }: { readonly reader: Reader }) {
  const edits = useStore(reader.edits)
  return (
    <div className="edits">
      <h3>
        Your edits
        {steps.map((step) => (
          <span key={step}>{step}</span>
        ))}
      </h3>
      <ol>
        {edits.map((edit) => (
          <EditRow key={edit.id} edit={edit} />
        ))}
        {edits.length === 0 && <li className="none">None yet: open a place below.</li>}
      </ol>
    </div>
  )
}
