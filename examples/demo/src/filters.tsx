import { useMemo } from 'react'
import { formatCount } from './format.ts'
import type { Reader } from './reader.ts'
import { useRows } from './use-instep.ts'
import type { View } from './view.ts'

interface FiltersProps {
  readonly reader: Reader
  readonly view: View
  readonly onChange: (view: View) => void
}

export function Filters({ reader: { client }, view, onChange }: FiltersProps) {
  const query = useMemo(() => client.query('Country', { orderBy: 'name' }), [client])
  const countries = useRows(query)
  return (
    <search className="filters">
      <label>
        <span>Name</span>
        <input
          type="search"
          placeholder="Any"
          value={view.text}
          onChange={(event) => onChange({ ...view, text: event.target.value })}
        />
      </label>
      <label>
        <span>Country</span>
        <select value={view.country} onChange={(event) => onChange({ ...view, country: event.target.value })}>
          <option value="">All {countries.length}</option>
          {countries.map(({ id, name, places }) => (
            <option key={id} value={id}>
              {name} ({formatCount(places)})
            </option>
          ))}
        </select>
      </label>
    </search>
  )
}
