import type { QuerySpec } from 'instep'
import { searchKey } from '../shared/search-key.mjs'
import type { Place } from './models.ts'

export type Column = 'key' | 'country' | 'lat'

/** What a user wants to see of the places, and in which order. */
export interface View {
  readonly text: string
  /** The id of a country; all of them where it is empty. */
  readonly country: string
  readonly column: Column
  readonly descending: boolean
}

export const firstView: View = { text: '', country: '', column: 'key', descending: false }

/** The same places in the order of another column, or in that of the same one turned around. */
export function orderedBy(view: View, column: Column): View {
  return { ...view, column, descending: view.column === column && !view.descending }
}

export function specOf({ text, country, column, descending }: View): QuerySpec<Place> {
  const key = searchKey(text)
  return {
    where: {
      country: country || undefined,
      // One or two letters are in nearly every name, so they only count at its beginning.
      key: key.length < 3 ? { startsWith: key || undefined } : { contains: key },
    },
    orderBy: [[column, descending ? 'desc' : 'asc']],
  }
}
