import { type ComparedField, fieldNames } from './compare-edit.ts'

/** What was there, what the user wrote, and what is there now. */
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
