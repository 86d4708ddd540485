import { describeConnection, describeWaiting } from './describe-status.ts'
import { Facts } from './facts.tsx'
import { FirstSync } from './first-sync.tsx'
import { useSyncStatus } from './hooks.ts'
import { Notice } from './notice.tsx'
import type { Reader } from './reader.ts'
import { Workplace } from './workplace.tsx'

interface CopyProps {
  readonly reader: Reader
  readonly name: string
  readonly onReload: () => void
}

/** A user's copy of the data, and its status. */
export function Copy({ reader, name, onReload }: CopyProps) {
  const status = useSyncStatus()
  const { tone, text } = describeConnection(status)
  const { data, storage } = status
  return (
    <div className="card">
      <header>
        <div>
          <div>
            <h2 id={reader.user}>{name}</h2>
            <button
              className="reload"
              type="button"
              onClick={onReload}
              title="As if this user reloaded the page"
            >
              Reload
            </button>
          </div>
          <p className="connection" data-tone={tone} role="status">
            <span>{text}</span>
            <span className="waiting">{describeWaiting(status)}</span>
          </p>
        </div>
        <Facts reader={reader} status={status} />
      </header>
      {storage.reason && <p className="notice">{storage.reason}</p>}
      {data.state === 'none' || data.state === 'loading' ? (
        <>
          <FirstSync reader={reader} status={status} name={name} />
          <Notice reader={reader} />
        </>
      ) : (
        <Workplace reader={reader} />
      )}
    </div>
  )
}
