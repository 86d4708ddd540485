import type { Status } from 'instep'
import { formatBytes, formatCount, formatFraction } from './format.ts'

interface FirstSyncProps {
  readonly status: Status
  readonly name: string
}

/** What stands in place of the data until it is there. */
export function FirstSync({ status: { connection, data }, name }: FirstSyncProps) {
  if (data.state !== 'loading') {
    return (
      <div className="first-sync">
        {connection.state === 'offline'
          ? 'Nothing is here yet, and there is no way to the server.'
          : 'Connecting…'}
      </div>
    )
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
