import { memo, useDeferredValue, useState } from 'react'
import { Filters } from './filters.tsx'
import { PlaceTable } from './place-table.tsx'
import type { Reader } from './reader.ts'
import { firstView } from './view.ts'

interface PlacesProps {
  readonly reader: Reader
  /** Opens the place `id`, or a new place without `id`. */
  readonly onOpen: (id?: string) => void
}

/** The places of one user's copy, with search and sorting. */
export const Places = memo(function Places({ reader, onOpen }: PlacesProps) {
  const [view, setView] = useState(firstView)
  // Keeps typing smooth while a search is running.
  const shown = useDeferredValue(view)
  return (
    <>
      <Filters view={view} onChange={setView} />
      <PlaceTable reader={reader} view={shown} onChange={setView} onOpen={onOpen} />
    </>
  )
})
