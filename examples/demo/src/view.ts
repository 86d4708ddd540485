import type { QuerySpec } from 'instep'
import { searchKey } from '../shared/search-key.mjs'
import type { Place } from './models.ts'

export type Column = 'key' | 'country' | 'lat'

/** The filters and the order of the list of places. */
export interface View {
  readonly text: string
  /** The id of a country; empty for all countries. */
  readonly country: string
  readonly column: Column
  readonly descending: boolean
}

export const firstView: View = { text: '', country: '', column: 'key', descending: false }

/** Orders the view by `column`, or reverses the order if the view is ordered by `column` already. */
export function orderedBy(view: View, column: Column): View {
  return { ...view, column, descending: view.column === column && !view.descending }
}

export function specOf({ text, country, column, descending }: View): QuerySpec<Place> {
  const key = searchKey(text)
  return {
    where: {
      country: country || undefined,
      // Nearly every name contains a given letter or two, so a short text matches only the beginning of a name.
      key: key.length < 3 ? { startsWith: key || undefined } : { contains: key },
    },
    orderBy: [[column, descending ? 'desc' : 'asc']],
  }
}
