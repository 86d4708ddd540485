import { describeConnection, describeWaiting } from './describe-status.ts'
import type { Device } from './device.ts'
import { Facts } from './facts.tsx'
import { FirstSync } from './first-sync.tsx'
import { useSyncStatus } from './hooks.ts'
import { Notice } from './notice.tsx'
import type { Reader } from './reader.ts'
import { SignIn } from './sign-in.tsx'
import { SignOut } from './sign-out.tsx'
import { Workplace } from './workplace.tsx'

interface CopyProps {
  readonly device: Device
  readonly reader: Reader
  readonly name: string
}

/** A user's copy of the data, and its status. */
export function Copy({ device, reader, name }: CopyProps) {
  const status = useSyncStatus()
  const { tone, text } = describeConnection(status)
  const { data, storage } = status
  if (status.lifecycle === 'signed-out') {
    return (
      <div className="card">
        <header>
          <h2 id={device.user}>Nobody</h2>
        </header>
        <SignIn onSignIn={(user) => device.signIn(user)} />
      </div>
    )
  }
  return (
    <div className="card">
      <header>
        <div>
          <div>
            <h2 id={device.user}>{name}</h2>
            <button
              className="reload"
              type="button"
              onClick={() => device.reload()}
              title="As if this user reloaded the page"
            >
              Reload
            </button>
            <SignOut reader={reader} />
          </div>
          <p className="connection" data-tone={tone} role="status">
            <span>{text}</span>
            <span className="waiting">{describeWaiting(status)}</span>
            <span className="role">{status.role === 'leader' ? 'Leads' : 'Follows'}</span>
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
