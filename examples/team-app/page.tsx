import { type ClientOf, indexedDbStore, type RecordOf, SyncClient } from 'instep'
import { createHooks } from 'instep/react'
import type { FormEvent } from 'react'
import { createRoot } from 'react-dom/client'
import { models } from './models.ts'

const { SyncProvider, useClient, useLiveQuery, usePending, useRecord } = createHooks<typeof models>()

type Row<T extends Parameters<typeof useRecord>[0]> = RecordOf<typeof models, T>

/** The messages for writes that a constraint of the database refuses, by the name of the constraint. */
const reasons: Readonly<Record<string, string>> = {
  issues_title_check: 'A title has 1 to 60 characters.',
}

const shown = 5

const tokenOf = async (userId: string) => (await fetch(`/token/${userId}`)).text()

function createClient(userId: string): ClientOf<typeof models> {
  return new SyncClient({
    baseUrl: '/sync/v1',
    token: () => tokenOf(userId),
    identity: `team-app:${userId}`,
    models,
    store: indexedDbStore(),
  })
}

/** Calls a REST route of the application. Its changes arrive like any other change. */
async function post(userId: string, path: string, body: object = {}): Promise<void> {
  const headers = { Authorization: `Bearer ${await tokenOf(userId)}`, 'Content-Type': 'application/json' }
  await fetch(`/api/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
}

function Pane({ userId }: { readonly userId: string }) {
  const { rows: teams } = useLiveQuery('Team', { orderBy: 'name' })
  return (
    <section className="pane" aria-label={`Pane of user ${userId}`}>
      <h2>
        <Name userId={userId} />
      </h2>
      <Refused />
      <Notes />
      {teams.map((team) => (
        <Team key={team.id} team={team} userId={userId} />
      ))}
    </section>
  )
}

function Notes() {
  const client = useClient()
  const { rows } = useLiveQuery('Note')
  const { rows: projects } = useLiveQuery('Project', { orderBy: 'name', limit: 1 })
  const add = (text: string) => client.mutate((m) => m.insert('Note', { text }))
  // One transaction, on a record of Instep and a row of the application: both happen, or neither.
  const promote = ({ id, text }: Row<'Note'>, { owner, id: project }: Row<'Project'>) =>
    client.mutate((m) => {
      m.delete('Note', id)
      m.insert('Issue', { owner, projectId: Number(project), title: text, status: 'open' })
    })
  return (
    <article>
      <h3>
        My notes <small>only for me</small>
      </h3>
      <ul>
        {rows.map((note) => (
          <li key={note.id}>
            <span className="text">{note.text}</span>
            {projects.map((project) => (
              <button type="button" key={project.id} onClick={() => promote(note, project)}>
                Make it an issue of {project.name}
              </button>
            ))}
          </li>
        ))}
      </ul>
      <AddField label="Add a note" onAdd={add} />
    </article>
  )
}

function Team({ team, userId }: { readonly team: Row<'Team'>; readonly userId: string }) {
  const { rows: projects } = useLiveQuery('Project', { where: { owner: team.owner }, orderBy: 'name' })
  return (
    <article>
      <h3>{team.name}</h3>
      {projects.map((project) => (
        <Project key={project.id} project={project} userId={userId} />
      ))}
      <Activity owner={team.owner} />
    </article>
  )
}

function Project({ project, userId }: { readonly project: Row<'Project'>; readonly userId: string }) {
  const client = useClient()
  const projectId = Number(project.id)
  const issues = useLiveQuery('Issue', { where: { projectId }, orderBy: [['number', 'desc']] })
  const open = useLiveQuery('Issue', { where: { projectId, status: 'open' } }).length
  const hours = Math.round(100 * issues.rows.reduce((sum, issue) => sum + (issue.hours ?? 0), 0)) / 100
  const { owner } = project
  const add = (title: string) =>
    client.mutate((m) => m.insert('Issue', { owner, projectId, title, status: 'open' }))
  return (
    <>
      <h4>
        {project.name}{' '}
        <small>
          {open} of {issues.length} open, {hours} h
        </small>
        {open > 0 && (
          <button type="button" onClick={() => post(userId, `projects/${projectId}/close`)}>
            Close all
          </button>
        )}
      </h4>
      <ul>
        {issues.slice(0, shown).map((issue) => (
          <Issue key={issue.id} issue={issue} />
        ))}
      </ul>
      {issues.length > shown && <small>and {issues.length - shown} more</small>}
      <AddField label={`Add an issue to ${project.name}`} onAdd={add} />
    </>
  )
}

function Issue({ issue: { id, owner, title, number, authorId, status } }: { readonly issue: Row<'Issue'> }) {
  const client = useClient()
  const { rows: comments } = useLiveQuery('Comment', { where: { issueId: id }, orderBy: 'createdAt' })
  const change = (fields: { title?: string; status?: 'open' | 'closed' }) =>
    client.mutate((m) => m.update('Issue', id, fields))
  const isClosed = status === 'closed'
  return (
    <li className={status}>
      <input
        type="checkbox"
        aria-label={`${title} is closed`}
        checked={isClosed}
        onChange={() => change({ status: isClosed ? 'open' : 'closed' })}
      />
      <TextField label="Title" text={title} onChange={(title) => change({ title })} />
      <small>
        #{number ?? '…'} <Name userId={authorId} />
      </small>
      <details>
        <summary>{comments.length === 0 ? 'Comment' : `Comments (${comments.length})`}</summary>
        <ul>
          {comments.map(({ id, text, authorId }) => (
            <li key={id}>
              <span className="text">{text}</span>
              <small>
                <Name userId={authorId} />
              </small>
            </li>
          ))}
        </ul>
        <AddField
          label="Add a comment"
          onAdd={(text) => client.mutate((m) => m.insert('Comment', { owner, issueId: id, text }))}
        />
      </details>
    </li>
  )
}

/** The activities, which a trigger of the database writes. */
function Activity({ owner }: { readonly owner: string }) {
  const { rows } = useLiveQuery('Activity', { where: { owner }, orderBy: [['at', 'desc']], limit: 3 })
  return (
    <ul className="activity">
      {rows.map(({ id, text, at }) => (
        <li key={id}>
          <small>
            {new Date(at).toLocaleTimeString()} {text}
          </small>
        </li>
      ))}
    </ul>
  )
}

function Name({ userId }: { readonly userId: number | string | undefined }) {
  return useRecord('User', userId === undefined ? undefined : String(userId))?.name
}

/** The writes that the server has refused. They are undone already. */
function Refused() {
  const { outbox } = useClient()
  return usePending().rejected.map(({ id, rejection }) => {
    const { constraint = '' } = (rejection?.details ?? {}) as { constraint?: string }
    return (
      <p className="refused" key={id}>
        {reasons[constraint] ?? rejection?.message}
        <button type="button" onClick={() => outbox.discard(id)}>
          OK
        </button>
      </p>
    )
  })
}

interface TextFieldProps {
  readonly label: string
  readonly text: string
  readonly onChange: (text: string) => void
}

/** A text field. The text is written when the field is left. */
function TextField({ label, text, onChange }: TextFieldProps) {
  return (
    <input
      // Another text from outside, even one that undoes a change, starts a new field.
      key={text}
      className="text"
      aria-label={label}
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
      <input name="text" placeholder={label} aria-label={label} autoComplete="off" />
    </form>
  )
}

// Clients live longer than components, so they are created outside of React.
const panes = ['1', '2'].map((userId) => ({ userId, client: createClient(userId) }))
const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    panes.map(({ userId, client }) => (
      <SyncProvider key={userId} client={client}>
        <Pane userId={userId} />
      </SyncProvider>
    )),
  )
}
