import type { Transaction } from 'instep'
import { compareFields } from './compare-edit.ts'
import { steps, stepsBehind } from './edit-steps.ts'
import { useTransactionState } from './hooks.ts'

/** One edit, with one light for each completed step. */
export function EditRow({ edit }: { readonly edit: Transaction }) {
  const behind = stepsBehind(useTransactionState(edit))
  return (
    <li>
      <span className="name">
        {edit.undoOf && 'Undo of '}
        {edit.label} <span className="what">{describeChange(edit)}</span>
      </span>
      {typeof behind === 'string' ? (
        <span className="end">{behind}</span>
      ) : (
        <span className="lights" role="img" aria-label={steps.slice(0, behind).join(', ') || 'being stored'}>
          {steps.map((step, index) => (
            <span key={step} className="light" data-lit={index < behind} />
          ))}
        </span>
      )}
    </li>
  )
}

/** The new values of an edit; empty if the edit adds a place. */
function describeChange(edit: Transaction): string {
  if (edit.records.some(({ base }) => !base)) return ''
  return compareFields(edit)
    .map(({ mine }) => mine)
    .join(', ')
}
