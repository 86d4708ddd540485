import { CableSwitch } from './cable-switch.tsx'
import { describeConnection } from './describe-status.ts'
import { Facts } from './facts.tsx'
import { FirstSync } from './first-sync.tsx'
import { Latest } from './latest.tsx'
import { Places } from './places.tsx'
import type { Reader } from './reader.ts'
import { useStore } from './store.ts'
import { useStatus } from './use-instep.ts'

/** One user's copy, and the cable that keeps it in step. */
export function Pane({ reader }: { readonly reader: Reader }) {
  const status = useStatus(reader.client)
  const notice = useStore(reader.notice)
  const { tone, text } = describeConnection(status)
  const name = reader.user.replace(/^./, (letter) => letter.toUpperCase())
  const { data, storage, lastSyncId } = status
  return (
    <section className="pane" aria-labelledby={reader.user}>
      <CableSwitch reader={reader} name={name} tone={tone} position={lastSyncId} />
      <div className="card">
        <header>
          <div>
            <h2 id={reader.user}>{name}</h2>
            <p className="connection" data-tone={tone} role="status">
              {text}
            </p>
          </div>
          <Facts reader={reader} status={status} />
        </header>
        {notice && <p className="notice">{notice}</p>}
        {storage.reason && <p className="notice">{storage.reason}</p>}
        {data.state === 'none' || data.state === 'loading' ? (
          <FirstSync status={status} name={name} />
        ) : (
          <>
            <Latest reader={reader} />
            <Places reader={reader} />
          </>
        )}
      </div>
    </section>
  )
}
