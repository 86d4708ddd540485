import type { Status } from 'instep'
import { formatBytes, formatCount, formatFraction } from './format.ts'
import type { Reader } from './reader.ts'
import { useStore } from './store.ts'

interface FirstSyncProps {
  readonly reader: Reader
  readonly status: Status
  readonly name: string
}

/** Shown instead of the data until there is data. */
export function FirstSync({ reader, status: { connection, data }, name }: FirstSyncProps) {
  const isRestored = useStore(reader.isRestored)
  if (data.state !== 'loading') {
    const isOffline = connection.state === 'offline'
    const otherwise = isOffline ? 'Nothing is here yet, and there is no way to the server.' : 'Connecting…'
    return <div className="first-sync">{isRestored ? otherwise : 'Opening what is on the disk…'}</div>
  }
  const { rows, bytes, fraction } = data.progress
  return (
    <div className="first-sync">
      <progress aria-label={`First sync of ${name}’s copy`} value={fraction} />
      <p>
        {formatCount(rows)} rows, {formatBytes(bytes)}
        {fraction !== undefined && <strong>{formatFraction(fraction)}</strong>}
      </p>
    </div>
  )
}
