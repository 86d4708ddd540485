import { memo, useDeferredValue, useState } from 'react'
import { Filters } from './filters.tsx'
import { PlaceTable } from './place-table.tsx'
import type { Reader } from './reader.ts'
import { firstView } from './view.ts'

/** The places of one copy, to be searched and sorted. */
export const Places = memo(function Places({ reader }: { readonly reader: Reader }) {
  const [view, setView] = useState(firstView)
  // Typing goes on while a search is under way.
  const shown = useDeferredValue(view)
  return (
    <>
      <Filters reader={reader} view={view} onChange={setView} />
      <PlaceTable reader={reader} view={shown} onChange={setView} />
    </>
  )
})
