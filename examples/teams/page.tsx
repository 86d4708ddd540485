import { type ClientOf, indexedDbStore, type RecordOf, SyncClient } from 'instep'
import { createHooks } from 'instep/react'
import type { FormEvent } from 'react'
import { createRoot } from 'react-dom/client'
import { models } from './models.ts'

const { SyncProvider, useClient, useLiveQuery, usePending } = createHooks<typeof models>()
const teams = ['red', 'blue']

const tokenOf = async (user: string) => (await fetch(`/token?user=${user}`)).text()

function createClient(user: string): ClientOf<typeof models> {
  return new SyncClient({
    baseUrl: '/sync/v1',
    token: () => tokenOf(user),
    identity: `teams:${user}`,
    models,
    store: indexedDbStore(),
  })
}

/** Joins or leaves a team. The client learns of it from the service. */
async function setMember(user: string, team: string, isMember: boolean): Promise<void> {
  const headers = { Authorization: `Bearer ${await tokenOf(user)}` }
  await fetch(`/teams/${team}/members`, { method: isMember ? 'PUT' : 'DELETE', headers })
}

function Pane({ user }: { readonly user: string }) {
  const client = useClient()
  const { rows: notes } = useLiveQuery('Note')
  const { rows: memberships } = useLiveQuery('Membership')
  const roleIn = (team: string) => memberships.find((membership) => membership.team === team)?.role
  return (
    <section className="pane">
      <h2>{user}</h2>
      <Refused />
      <h3>My notes</h3>
      <ul>
        {notes.map(({ id, text }) => (
          <li key={id}>
            {text}
            <button type="button" onClick={() => client.mutate((m) => m.delete('Note', id))}>
              Delete
            </button>
          </li>
        ))}
      </ul>
      <AddField label="Add a note" onAdd={(text) => client.mutate((m) => m.insert('Note', { text }))} />
      {teams.map((team) => (
        <div key={team}>
          <h3>
            Team {team} <small>{roleIn(team)}</small>
            <button type="button" onClick={() => setMember(user, team, !roleIn(team))}>
              {roleIn(team) ? 'Leave' : 'Join'}
            </button>
          </h3>
          {roleIn(team) && <Team team={team} others={teams.filter((one) => one !== team && roleIn(one))} />}
        </div>
      ))}
    </section>
  )
}

function Team({ team, others }: { readonly team: string; readonly others: readonly string[] }) {
  const client = useClient()
  const owner = `team:${team}`
  const { rows } = useLiveQuery('Issue', { where: { owner }, orderBy: 'number' })
  const add = (title: string) => client.mutate((m) => m.insert('Issue', { owner, title, status: 'open' }))
  return (
    <>
      <ul>
        {rows.map((issue) => (
          <Issue key={issue.id} issue={issue} others={others} />
        ))}
      </ul>
      <AddField label={`Add an issue to ${team}`} onAdd={add} />
    </>
  )
}

interface IssueProps {
  readonly issue: RecordOf<typeof models, 'Issue'>
  /** The other teams of the user. */
  readonly others: readonly string[]
}

function Issue({ issue: { id, owner, title, number, author, status }, others }: IssueProps) {
  const client = useClient()
  const { rows: comments } = useLiveQuery('Comment', { where: { issue: id }, orderBy: 'createdAt' })
  const change = (fields: { title?: string; status?: 'closed' }) =>
    client.mutate((m) => m.update('Issue', id, fields))
  // In one transaction, so that an issue and its comments never have different owners.
  const moveTo = (team: string) =>
    client.mutate((m) => {
      m.update('Issue', id, { owner: `team:${team}` })
      for (const comment of comments) m.update('Comment', comment.id, { owner: `team:${team}` })
    })
  const comment = (text: string) => client.mutate((m) => m.insert('Comment', { owner, issue: id, text }))
  const edit = (comment: string, text: string) => client.mutate((m) => m.update('Comment', comment, { text }))
  return (
    <li className={status}>
      <small>#{number ?? '…'}</small> <TextField text={title} onChange={(title) => change({ title })} />
      <small>{author}</small>
      {status === 'open' && (
        <button type="button" onClick={() => change({ status: 'closed' })}>
          Close
        </button>
      )}
      {others.map((team) => (
        <button type="button" key={team} onClick={() => moveTo(team)}>
          Move to {team}
        </button>
      ))}
      <ul>
        {comments.map(({ id, text, author }) => (
          <li key={id}>
            <TextField text={text} onChange={(text) => edit(id, text)} /> <small>{author}</small>
          </li>
        ))}
        <li>
          <AddField label="Add a comment" onAdd={comment} />
        </li>
      </ul>
    </li>
  )
}

/** The writes that the server has refused. They are undone already. */
function Refused() {
  const { outbox } = useClient()
  return usePending().rejected.map(({ id, rejection }) => (
    <div className="refused" key={id}>
      {rejection?.message}
      <button type="button" onClick={() => outbox.discard(id)}>
        OK
      </button>
    </div>
  ))
}

/** A text field. The text is written when the field is left. */
function TextField({ text, onChange }: { readonly text: string; readonly onChange: (text: string) => void }) {
  return (
    <input
      // Another text from outside, even one that undoes a change, starts a new field.
      key={text}
      defaultValue={text}
      onBlur={({ currentTarget }) => {
        if (currentTarget.value !== text) onChange(currentTarget.value)
      }}
    />
  )
}

function AddField({ label, onAdd }: { readonly label: string; readonly onAdd: (text: string) => void }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get('text')).trim()
    event.currentTarget.reset()
    if (text !== '') onAdd(text)
  }
  return (
    <form onSubmit={submit}>
      <input name="text" placeholder={label} aria-label={label} />
    </form>
  )
}

// Clients live longer than components, so they are created outside of React.
const panes = ['ada', 'ben'].map((user) => ({ user, client: createClient(user) }))
const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    panes.map(({ user, client }) => (
      <SyncProvider key={user} client={client}>
        <Pane user={user} />
      </SyncProvider>
    )),
  )
}
