import type { Status } from 'instep'
import { describeAge, describeStorage } from './describe-status.ts'
import { formatCount, formatDuration } from './format.ts'
import type { Reader } from './reader.ts'
import { useStore } from './store.ts'

/** Figures about a copy of the data. */
export function Facts({ reader, status }: { readonly reader: Reader; readonly status: Status }) {
  const opening = useStore(reader.opening)
  return (
    <dl className="facts">
      <div>
        <dt>Position</dt>
        <dd>{formatCount(status.lastSyncId)}</dd>
      </div>
      <div>
        <dt>As of</dt>
        <dd>{describeAge(status)}</dd>
      </div>
      <div>
        <dt>Stored</dt>
        <dd>{describeStorage(status)}</dd>
      </div>
      <div>
        <dt>{opening?.from === 'disk' ? 'Restored in' : 'First sync'}</dt>
        <dd>{opening ? formatDuration(opening.ms) : '–'}</dd>
      </div>
    </dl>
  )
}
