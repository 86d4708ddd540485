import { memo } from 'react'
import { formatLatitude, formatLongitude } from './format.ts'
import type { Place } from './models.ts'

interface PlaceRowProps {
  readonly place: Place
  readonly countryName: string
  readonly index: number
  /** Whether it has just changed. */
  readonly fresh: boolean
}

export const PlaceRow = memo(function PlaceRow({ place, countryName, index, fresh }: PlaceRowProps) {
  const { name, lat, lng } = place
  return (
    // The heads are the first row.
    <tr aria-rowindex={index + 2} data-fresh={fresh}>
      <td className="key" title={name}>
        {name}
      </td>
      <td className="country" title={countryName}>
        {countryName}
      </td>
      <td className="lat">{formatLatitude(lat)}</td>
      <td className="lng">{formatLongitude(lng)}</td>
    </tr>
  )
})
