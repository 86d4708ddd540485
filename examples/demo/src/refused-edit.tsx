import type { Transaction } from 'instep'
import type { MouseEvent } from 'react'
import { compareFields } from './compare-edit.ts'
import { ComparedFields } from './compared-fields.tsx'
import { useClient, useRecord } from './hooks.ts'

/** An edit that the server refused, and what can be done about it. */
export function RefusedEdit({ edit }: { readonly edit: Transaction }) {
  const { outbox } = useClient()
  // What others write meanwhile shows in what is compared.
  useRecord('Place', edit.records[0]?.id)
  const compared = compareFields(edit)
  const leaving = (work: (id: string) => void) => (event: MouseEvent) => {
    passFocus(event.currentTarget)
    work(edit.id)
  }
  return (
    <article aria-label={edit.label}>
      <p role="alert">
        <strong>{edit.label}</strong> was refused: {describeReason(edit)}
      </p>
      {/* The buttons stay in sight within it, and so cover no other's name. */}
      <div>
        {compared.length > 0 && <ComparedFields fields={compared} />}
        <div className="actions">
          <button type="button" onClick={leaving((id) => outbox.retry(id))}>
            Retry
          </button>
          <button type="button" onClick={leaving((id) => outbox.discard(id))}>
            Discard
          </button>
        </div>
      </div>
    </article>
  )
}

/** From what is about to go, to the list. */
function passFocus(from: Element): void {
  from.closest('.workplace')?.querySelector<HTMLElement>('.scroller')?.focus({ preventScroll: true })
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
