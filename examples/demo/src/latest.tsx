import { memo, useMemo } from 'react'
import { formatCount, formatTime } from './format.ts'
import type { Reader } from './reader.ts'
import { useStore } from './store.ts'
import { useRows } from './use-instep.ts'

/** The places that changed last, wherever they are in the list. */
export const Latest = memo(function Latest({ reader }: { readonly reader: Reader }) {
  const { client } = reader
  const query = useMemo(
    () =>
      client.query('Place', {
        where: { updatedAt: { gt: 0 } },
        orderBy: [['updatedAt', 'desc']],
        limit: 3,
      }),
    [client],
  )
  const places = useRows(query)
  const recent = useStore(reader.recent)
  return (
    <div className="latest">
      <h3>
        Latest changes
        <span aria-live="polite">{recent.size > 0 && `${formatCount(recent.size)} just now`}</span>
      </h3>
      <ol>
        {places.map(({ id, name, country, updatedAt }) => (
          <li key={id} data-fresh={recent.has(id)}>
            <span className="name">{name}</span>
            <span className="country">{client.get('Country', country)?.name ?? country}</span>
            <time>{formatTime(updatedAt)}</time>
          </li>
        ))}
        {places.length === 0 && <li className="none">None yet: change some rows on the server.</li>}
      </ol>
    </div>
  )
})
