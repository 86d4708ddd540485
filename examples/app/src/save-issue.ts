import { isSyncError } from 'instep'
import type { Client, Issue } from './session.ts'

/** What is wrong with each field of a form. */
export type Errors = { readonly [field: string]: string }

/** Adds an issue, or changes `issue`. If the model does not allow the fields, writes nothing and returns the errors. */
export function saveIssue(client: Client, form: FormData, owner: string, issue?: Issue): Errors {
  const title = String(form.get('title')).trim()
  const number = String(form.get('hours')).trim()
  const hours = number === '' ? null : Number(number)
  // No record can hold a NaN, so the model is not asked about it.
  if (Number.isNaN(hours)) return { hours: 'Please enter a number.' }
  try {
    client.mutate(
      (m) => {
        if (!issue) return m.insert('Issue', { owner, title, hours, status: 'open' })
        // Write only what the user has changed: the other fields may have been changed by somebody else.
        const changed = { ...(title !== issue.title && { title }), ...(hours !== issue.hours && { hours }) }
        return m.update('Issue', issue.id, changed)
      },
      { label: issue ? `Edit “${issue.title}”` : `Add “${title}”` },
    )
    return {}
  } catch (error) {
    if (!isSyncError(error, 'ValidationError')) throw error
    return Object.fromEntries(error.issues.map(({ field, reason }) => [field, reason]))
  }
}
