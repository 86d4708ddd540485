import { type ComparedField, fieldNames } from './compare-edit.ts'

/** A table of the old values, the user's values, and the current values. */
export function ComparedFields({ fields }: { readonly fields: readonly ComparedField[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">Yours</th>
          <th scope="col">Theirs</th>
        </tr>
      </thead>
      <tbody>
        {fields.map(({ field, base, mine, theirs }) => (
          <tr key={field}>
            <th scope="row">{fieldNames[field]}</th>
            <td>{base}</td>
            <td>{mine}</td>
            <td>{theirs}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
