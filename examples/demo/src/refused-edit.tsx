import type { Transaction } from 'instep'
import { compareFields } from './compare-edit.ts'
import { ComparedFields } from './compared-fields.tsx'
import { useClient, useRecord } from './hooks.ts'

/** An edit that the server refused, and what can be done about it. */
export function RefusedEdit({ edit }: { readonly edit: Transaction }) {
  const { outbox } = useClient()
  // What others write meanwhile shows in what is compared.
  useRecord('Place', edit.records[0]?.id)
  const compared = compareFields(edit)
  return (
    <article aria-label={edit.label}>
      <p>
        <strong>{edit.label}</strong> was refused: {describeReason(edit)}
      </p>
      {compared.length > 0 && <ComparedFields fields={compared} />}
      <div className="actions">
        <button type="button" onClick={() => outbox.retry(edit.id)}>
          Retry
        </button>
        <button type="button" onClick={() => outbox.discard(edit.id)}>
          Discard
        </button>
      </div>
    </article>
  )
}

function describeReason({ rejection }: Transaction): string {
  switch (rejection?.reason) {
    case 'conflict':
      return 'somebody else changed it first.'
    case 'not_found':
      return 'somebody has deleted it.'
    default:
      return rejection?.message ?? ''
  }
}
