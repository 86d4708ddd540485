import { useMemo } from 'react'
import type { Place } from './models.ts'
import type { Reader } from './reader.ts'
import { useData, useRows } from './use-instep.ts'
import { isWhole, specOf, type View } from './view.ts'
import { Windows } from './windows.ts'

/** Places in order, of which only some may be at hand. */
export interface PlaceRows {
  readonly rows: readonly Place[]
  /** The place in the whole result of the first of `rows`. */
  readonly start: number
  /** Of the whole result. */
  readonly total: number
}

/** The places of `view`: all of them where it narrows, otherwise the window that begins at `start`. */
export function usePlaces({ client }: Reader, view: View, start: number): PlaceRows {
  const whole = isWhole(view)
  const windows = useMemo(() => new Windows(client, view), [client, view])
  const query = useMemo(
    () => client.query('Place', whole ? windows.at(start) : specOf(view)),
    [client, view, whole, windows, start],
  )
  const rows = useRows(query)
  const places = useData(client, () => client.count('Place'))
  return whole ? { rows, start, total: places } : { rows, start: 0, total: rows.length }
}
