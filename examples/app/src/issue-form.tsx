import { type FormEvent, useId, useState } from 'react'
import { type Errors, saveIssue } from './save-issue.ts'
import { type Issue, useClient } from './session.ts'

interface IssueFormProps {
  readonly owner: string
  /** The issue to edit. Without it, the form adds one. */
  readonly issue?: Issue
  readonly onDone?: () => void
}

export function IssueForm({ owner, issue, onDone }: IssueFormProps) {
  const client = useClient()
  const [errors, setErrors] = useState<Errors>({})
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    const found = saveIssue(client, new FormData(form), owner, issue)
    setErrors(found)
    if (Object.keys(found).length > 0) return
    form.reset()
    onDone?.()
  }
  return (
    <form noValidate onSubmit={submit} aria-label={issue ? `Edit ${issue.title}` : 'New issue'}>
      <Field name="title" label="Title" value={issue?.title} error={errors.title} />
      <Field name="hours" label="Hours" value={issue?.hours} error={errors.hours} />
      <button type="submit">{issue ? 'Save' : 'Add'}</button>
      {issue && (
        <button type="button" onClick={onDone}>
          Cancel
        </button>
      )}
    </form>
  )
}

interface FieldProps {
  readonly name: string
  readonly label: string
  readonly value: string | number | null | undefined
  readonly error: string | undefined
}

function Field({ name, label, value, error }: FieldProps) {
  const id = useId()
  return (
    <p className={`field ${name}`}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        name={name}
        defaultValue={value ?? ''}
        aria-invalid={error !== undefined}
        aria-describedby={`${id}-error`}
      />
      <span id={`${id}-error`} className="error">
        {error}
      </span>
    </p>
  )
}
