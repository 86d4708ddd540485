import { useState } from 'react'
import { IssueForm } from './issue-form.tsx'
import { type Issue, type Session, useClient, useLiveQuery, useSyncStatus } from './session.ts'

interface TeamProps {
  readonly team: string
  readonly isMember: boolean
  readonly session: Session
}

export function Team({ team, isMember, session }: TeamProps) {
  const isOnline = useSyncStatus(({ connection }) => connection.state === 'socket')
  return (
    <section className="card" aria-label={`Team ${team}`}>
      <div className="bar">
        <h2>Team {team}</h2>
        <button type="button" disabled={!isOnline} onClick={() => session.setMember(team, !isMember)}>
          {isMember ? 'Leave' : 'Join'}
        </button>
      </div>
      {isMember ? (
        <Issues team={team} userId={session.userId} />
      ) : (
        <p className="quiet">You are not in this team.</p>
      )}
    </section>
  )
}

function Issues({ team, userId }: { readonly team: string; readonly userId: string }) {
  const owner = `team:${team}`
  const { rows, status } = useLiveQuery('Issue', { where: { owner }, orderBy: 'createdAt' })
  if (status === 'pending') return <p className="quiet">Loading…</p>
  return (
    <>
      <ul>
        {rows.map((issue) => (
          <IssueRow key={issue.id} issue={issue} userId={userId} />
        ))}
      </ul>
      <IssueForm owner={owner} />
    </>
  )
}

function IssueRow({ issue, userId }: { readonly issue: Issue; readonly userId: string }) {
  const client = useClient()
  const [isEdited, setEdited] = useState(false)
  const { id, title, hours, status, author } = issue
  if (isEdited) {
    return (
      <li>
        <IssueForm owner={issue.owner} issue={issue} onDone={() => setEdited(false)} />
      </li>
    )
  }
  const isClosed = status === 'closed'
  const toggle = () =>
    client.mutate((m) => m.update('Issue', id, { status: isClosed ? 'open' : 'closed' }), {
      label: `${isClosed ? 'Reopen' : 'Close'} “${title}”`,
    })
  const remove = () => client.mutate((m) => m.delete('Issue', id), { label: `Delete “${title}”` })
  return (
    <li className={status}>
      <input type="checkbox" aria-label={`${title} is closed`} checked={isClosed} onChange={toggle} />
      <span className="text">
        {title} <small>{[author, hours !== null && `${hours} h`].filter(Boolean).join(', ')}</small>
      </span>
      {!isClosed && (
        <button type="button" onClick={() => setEdited(true)} aria-label={`Edit ${title}`}>
          Edit
        </button>
      )}
      {!isClosed && (author ?? userId) === userId && (
        <button type="button" onClick={remove} aria-label={`Delete ${title}`}>
          Delete
        </button>
      )}
    </li>
  )
}
