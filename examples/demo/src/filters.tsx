import { CountryOptions } from './country-options.tsx'
import type { View } from './view.ts'

interface FiltersProps {
  readonly view: View
  readonly onChange: (view: View) => void
}

export function Filters({ view, onChange }: FiltersProps) {
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
          <option value="">All</option>
          <CountryOptions />
        </select>
      </label>
    </search>
  )
}
