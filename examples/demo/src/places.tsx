import { memo, useDeferredValue, useState } from 'react'
import { Filters } from './filters.tsx'
import { PlaceTable } from './place-table.tsx'
import type { Reader } from './reader.ts'
import { firstView } from './view.ts'

interface PlacesProps {
  readonly reader: Reader
  /** Opens a place, or, without an id, a new one. */
  readonly onOpen: (id?: string) => void
}

/** The places of one copy, to be searched and sorted. */
export const Places = memo(function Places({ reader, onOpen }: PlacesProps) {
  const [view, setView] = useState(firstView)
  // Typing goes on while a search is under way.
  const shown = useDeferredValue(view)
  return (
    <>
      <Filters view={view} onChange={setView} />
      <PlaceTable reader={reader} view={shown} onChange={setView} onOpen={onOpen} />
    </>
  )
})
