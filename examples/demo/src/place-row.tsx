import { memo } from 'react'
import { describeStars, formatLatitude, formatStars } from './format.ts'
import type { Place } from './models.ts'

interface PlaceRowProps {
  readonly place: Place
  readonly countryName: string
  readonly index: number
  /** Whether the place has just changed. */
  readonly fresh: boolean
  /** Whether Tab moves the focus to this row. From there, the arrow keys move it. */
  readonly isTabStop: boolean
  readonly onOpen: (id: string) => void
}

export const PlaceRow = memo(function PlaceRow(props: PlaceRowProps) {
  const { place, countryName, index, fresh, isTabStop, onOpen } = props
  const { id, name, lat, rating = 0, note } = place
  return (
    // Row 1 has the column heads.
    <tr aria-rowindex={index + 2} data-fresh={fresh}>
      <td className="key" title={name}>
        {/* The button covers the row. */}
        <button type="button" value={id} tabIndex={isTabStop ? 0 : -1} onClick={() => onOpen(id)}>
          {name}
        </button>
      </td>
      <td className="country" title={countryName}>
        {countryName}
      </td>
      <td className="rating">
        {rating > 0 && (
          <span role="img" aria-label={describeStars(rating)}>
            {formatStars(rating)}
          </span>
        )}
      </td>
      <td className="note" title={note}>
        {note}
      </td>
      <td className="lat">{lat !== undefined && formatLatitude(lat)}</td>
    </tr>
  )
})
