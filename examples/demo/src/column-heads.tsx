import { type Column, orderedBy, type View } from './view.ts'

const columns: readonly (readonly [column: Column, title: string])[] = [
  ['key', 'Name'],
  ['country', 'Country'],
  ['lat', 'Latitude'],
]

interface ColumnHeadsProps {
  readonly view: View
  readonly onChange: (view: View) => void
}

export function ColumnHeads({ view, onChange }: ColumnHeadsProps) {
  const direction = view.descending ? 'descending' : 'ascending'
  return (
    <thead>
      <tr>
        {columns.map(([column, title]) => (
          <th
            key={column}
            className={column}
            scope="col"
            aria-sort={view.column === column ? direction : 'none'}
          >
            <button className="sort" type="button" onClick={() => onChange(orderedBy(view, column))}>
              {title}
            </button>
          </th>
        ))}
        <th className="lng" scope="col">
          Longitude
        </th>
      </tr>
    </thead>
  )
}
