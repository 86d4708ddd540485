import { formatStars } from './format.ts'

interface RatingFieldProps {
  readonly value: number
  readonly onChange: (stars: number) => void
}

/** One more than the server accepts, to show a refused edit. */
const choices = [0, 1, 2, 3, 4, 5, 6]

export function RatingField({ value, onChange }: RatingFieldProps) {
  return (
    <label>
      <span>Rating</span>
      <select value={value} onChange={(event) => onChange(Number(event.target.value))}>
        {choices.map((stars) => (
          <option key={stars} value={stars}>
            {formatStars(stars) || 'None'}
          </option>
        ))}
      </select>
    </label>
  )
}
