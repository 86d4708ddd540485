import { useVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useRef, useState } from 'react'
import { ColumnHeads } from './column-heads.tsx'
import { formatCount } from './format.ts'
import { PlaceRow } from './place-row.tsx'
import type { Reader } from './reader.ts'
import { useStore } from './store.ts'
import { usePlaces } from './use-places.ts'
import type { View } from './view.ts'
import { windowStart } from './windows.ts'

/** As `--row` in `style.css`, in px. */
const rowHeight = 32

interface PlaceTableProps {
  readonly reader: Reader
  readonly view: View
  readonly onChange: (view: View) => void
}

/** A table of which only the rows in sight are in the page; its margins stand for those above and below. */
export function PlaceTable({ reader, view, onChange }: PlaceTableProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const [reached, setReached] = useState({ view, start: 0 })
  // Another view is looked at from its top.
  const places = usePlaces(reader, view, reached.view === view ? reached.start : 0)
  const recent = useStore(reader.recent)
  const virtualizer = useVirtualizer({
    count: places.total,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    onChange: ({ range }) => setReached({ view, start: windowStart(range?.startIndex ?? 0) }),
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is what calls for it
  useLayoutEffect(() => {
    scroller.current?.scrollTo(0, 0)
  }, [view])

  const items = virtualizer.getVirtualItems()
  const above = items[0]?.start ?? 0
  const below = virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0)
  return (
    <>
      <p className="total" role="status">
        {places.total === 1 ? '1 place' : `${formatCount(places.total)} places`}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <div className="scroller" ref={scroller} tabIndex={0}>
        <table
          aria-label="Places"
          aria-rowcount={places.total + 1}
          style={{ marginTop: above, marginBottom: below }}
        >
          <ColumnHeads view={view} onChange={onChange} />
          <tbody>
            {items.map(({ index }) => {
              const place = places.rows[index - places.start]
              if (!place) return <tr key={index} className="blank" />
              return (
                <PlaceRow
                  key={place.id}
                  place={place}
                  countryName={reader.client.get('Country', place.country)?.name ?? place.country}
                  index={index}
                  fresh={recent.has(place.id)}
                />
              )
            })}
          </tbody>
        </table>
      </div>
    </>
  )
}
