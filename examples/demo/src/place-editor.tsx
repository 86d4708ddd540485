import { type FormEvent, type KeyboardEvent, useState } from 'react'
import { CountryOptions } from './country-options.tsx'
import { useClient, useRecord } from './hooks.ts'
import { RatingField } from './rating-field.tsx'
import { addPlace, deletePlace, editPlace, type PlaceFields } from './write.ts'

interface PlaceEditorProps {
  /** `undefined` for a new place. */
  readonly id: string | undefined
  readonly onClose: () => void
}

const blank: PlaceFields = { name: '', country: 'AD', rating: 0, note: '' }

/** A form for one place. Fields that the user has not touched show changes of others at once. */
export function PlaceEditor({ id, onClose }: PlaceEditorProps) {
  const client = useClient()
  const place = useRecord('Place', id)
  const [touched, setTouched] = useState<Partial<PlaceFields>>({})
  const fields = { ...blank, ...place, ...touched }
  const touch = (change: Partial<PlaceFields>) => setTouched({ ...touched, ...change })

  const save = (event: FormEvent) => {
    event.preventDefault()
    if (!place) addPlace(client, fields)
    else if (Object.keys(touched).length > 0) editPlace(client, place, touched)
    onClose()
  }
  const remove = () => {
    if (place) deletePlace(client, place)
    onClose()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') onClose()
  }
  const isGone = id !== undefined && !place
  return (
    <form className="editor" aria-label={place?.name ?? 'New place'} onSubmit={save} onKeyDown={onKeyDown}>
      <label>
        <span>Name</span>
        <input
          value={fields.name}
          onChange={(event) => touch({ name: event.target.value })}
          required
          // biome-ignore lint/a11y/noAutofocus: the user has opened the form to type
          autoFocus={id === undefined}
        />
      </label>
      <label>
        <span>Country</span>
        <select value={fields.country} onChange={(event) => touch({ country: event.target.value })}>
          <CountryOptions />
        </select>
      </label>
      <label>
        <span>Note</span>
        <input
          value={fields.note}
          onChange={(event) => touch({ note: event.target.value })}
          // biome-ignore lint/a11y/noAutofocus: the user has opened the form to type
          autoFocus={id !== undefined}
        />
      </label>
      <RatingField value={fields.rating ?? 0} onChange={(rating) => touch({ rating })} />
      <div className="actions">
        <button type="submit" disabled={isGone}>
          Save
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        {isGone && <span role="status">Somebody has deleted it.</span>}
        {place && (
          <button className="delete" type="button" onClick={remove}>
            Delete
          </button>
        )}
      </div>
    </form>
  )
}
