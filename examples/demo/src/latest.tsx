import { memo } from 'react'
import { formatCount, formatTime } from './format.ts'
import { useClient, useLiveQuery } from './hooks.ts'
import type { Reader } from './reader.ts'
import { useStore } from './store.ts'

interface LatestProps {
  readonly reader: Reader
  readonly onOpen: (id: string) => void
}

/** The places that changed last, with any position in the list. */
export const Latest = memo(function Latest({ reader, onOpen }: LatestProps) {
  const client = useClient()
  const { rows: places } = useLiveQuery('Place', {
    where: { updatedAt: { gt: 0 } },
    orderBy: [['updatedAt', 'desc']],
    limit: 3,
  })
  const recent = useStore(reader.recent)
  return (
    <div className="latest">
      <h3>
        Changes
        <span aria-live="polite">
          {places.length > 0 && recent.size > 0 && `${formatCount(recent.size)} just now`}
        </span>
      </h3>
      <ol>
        {places.map(({ id, name, country, updatedAt }) => (
          <li key={id} data-fresh={recent.has(id)}>
            <button className="name" type="button" onClick={() => onOpen(id)}>
              {name}
            </button>
            <span className="country">{client.get('Country', country)?.name ?? country}</span>
            <time>{formatTime(updatedAt)}</time>
          </li>
        ))}
        {places.length === 0 && <li className="none">None.</li>}
      </ol>
    </div>
  )
})
