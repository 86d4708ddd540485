import { useVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useRef } from 'react'
import { ColumnHeads } from './column-heads.tsx'
import { formatCount } from './format.ts'
import { useClient, useLiveQuery } from './hooks.ts'
import { onPlaceKey } from './place-keys.ts'
import { PlaceRow } from './place-row.tsx'
import type { Reader } from './reader.ts'
import { useStore } from './store.ts'
import { Tools } from './tools.tsx'
import { useRowFocus } from './use-row-focus.ts'
import { specOf, type View } from './view.ts'

/** The height of a row, in px. Must equal `--row` in `style/base.css`. */
const rowHeight = 32

interface PlaceTableProps {
  readonly reader: Reader
  readonly view: View
  readonly onChange: (view: View) => void
  readonly onOpen: (id?: string) => void
}

/** A table that renders only the visible rows. Its margins take the space of the rows above and below. */
export function PlaceTable({ reader, view, onChange, onOpen }: PlaceTableProps) {
  const client = useClient()
  const scroller = useRef<HTMLDivElement>(null)
  const places = useLiveQuery('Place', specOf(view))
  const recent = useStore(reader.recent)
  const virtualizer = useVirtualizer({
    count: places.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: scroll to the top when the view changes
  useLayoutEffect(() => {
    scroller.current?.scrollTo(0, 0)
  }, [view])

  const focus = useRowFocus(scroller)
  const items = virtualizer.getVirtualItems()
  const first = items[0]?.index ?? 0
  const rows = places.slice(first, first + items.length)
  const tabStop =
    rows.find(({ id }) => id === focus.last) ?? rows[(virtualizer.range?.startIndex ?? first) - first]
  const above = items[0]?.start ?? 0
  const below = virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0)
  return (
    <>
      <div className="total">
        <p role="status">{places.length === 1 ? '1 place' : `${formatCount(places.length)} places`}</p>
        <Tools reader={reader} onAdd={() => onOpen()} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach a scrollable element */}
      <div className="scroller" ref={scroller} tabIndex={0}>
        <table
          aria-label="Places"
          aria-rowcount={places.length + 1}
          style={{ marginTop: above, marginBottom: below }}
        >
          <ColumnHeads view={view} onChange={onChange} />
          <tbody
            onKeyDown={(event) => onPlaceKey(client, event)}
            onFocus={focus.onFocus}
            onBlur={focus.onBlur}
          >
            {items.map(({ index }) => {
              const place = rows[index - first]
              if (!place) return null
              return (
                <PlaceRow
                  key={place.id}
                  place={place}
                  countryName={client.get('Country', place.country)?.name ?? place.country}
                  index={index}
                  fresh={recent.has(place.id)}
                  isTabStop={place === tabStop}
                  onOpen={onOpen}
                />
              )
            })}
          </tbody>
        </table>
      </div>
    </>
  )
}
