import type { Transaction } from 'instep'
import type { MouseEvent } from 'react'
import { compareFields } from './compare-edit.ts'
import { ComparedFields } from './compared-fields.tsx'
import { useClient, useRecord } from './hooks.ts'

/** An edit that the server refused, with buttons to retry or discard it. */
export function RefusedEdit({ edit }: { readonly edit: Transaction }) {
  const { outbox } = useClient()
  // Render again when the place changes, so that the comparison shows the latest values of others.
  useRecord('Place', edit.records[0]?.id)
  const compared = compareFields(edit)
  const leaving = (work: (id: string) => void) => (event: MouseEvent) => {
    passFocus(event.currentTarget)
    work(edit.id)
  }
  return (
    <article aria-label={edit.label}>
      <p role="alert">
        {edit.undoOf && 'Undo of '}
        <strong>{edit.label}</strong> was refused: {describeReason(edit)}
      </p>
      {/* The buttons stay visible within this element, so they do not cover the name of another edit. */}
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

/** Moves the focus from an element that is about to be removed to the list. */
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
