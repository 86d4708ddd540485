import { type Column, orderedBy, type View } from './view.ts'

interface ColumnHeadsProps {
  readonly view: View
  readonly onChange: (view: View) => void
}

export function ColumnHeads({ view, onChange }: ColumnHeadsProps) {
  const direction = view.descending ? 'descending' : 'ascending'
  const sortable = (column: Column, title: string) => (
    <th className={column} scope="col" aria-sort={view.column === column ? direction : 'none'}>
      <button className="sort" type="button" onClick={() => onChange(orderedBy(view, column))}>
        {title}
      </button>
    </th>
  )
  return (
    <thead>
      <tr>
        {sortable('key', 'Name')}
        {sortable('country', 'Country')}
        <th className="rating" scope="col">
          Rating
        </th>
        <th className="note" scope="col">
          Note
        </th>
        {sortable('lat', 'Latitude')}
      </tr>
    </thead>
  )
}
