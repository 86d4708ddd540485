import { memo } from 'react'
import { formatCount } from './format.ts'
import { useLiveQuery } from './hooks.ts'

/** The options of a `select` with all countries, ordered by name. */
export const CountryOptions = memo(function CountryOptions() {
  const { rows } = useLiveQuery('Country', { orderBy: 'name' })
  return rows.map(({ id, name, places }) => (
    <option key={id} value={id}>
      {name} ({formatCount(places)})
    </option>
  ))
})
