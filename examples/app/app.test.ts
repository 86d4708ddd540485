import { memoryStore } from 'instep'
import { mockSyncServer } from 'instep/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { models } from './models.ts'
import { authorize, prepare } from './server/rules.ts'
import { describeStatus } from './src/describe-status.ts'
import { saveIssue } from './src/save-issue.ts'

const owner = 'team:blue'

/** The application's server, with two members of one team, in virtual time. */
const createServer = () =>
  mockSyncServer({
    ownerField: 'owner',
    callerOf: (userId) => ({ userId, owners: [`user:${userId}`, owner] }),
    models,
    authorize,
    prepare,
  })

let server: ReturnType<typeof createServer>

async function open(identity: string) {
  const client = server.device().client({ identity, models, store: memoryStore() })
  await client.start()
  await server.settle()
  return client
}

function formOf(fields: { readonly [name: string]: string }): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  return form
}

beforeEach(() => {
  server = createServer()
})

afterEach(() => server.close())

test('a form with errors writes nothing, and says what is wrong with each field', async () => {
  const ada = await open('ada')
  const errors = saveIssue(ada, formOf({ title: ' ', hours: '200' }), owner)
  expect(errors).toEqual({ title: 'Please enter a title.', hours: 'At most 100.' })
  expect(saveIssue(ada, formOf({ title: 'Tar', hours: 'many' }), owner)).toEqual({
    hours: 'Please enter a number.',
  })
  expect(ada.count('Issue')).toBe(0)
})

test('two users edit different fields of one issue, and both edits stay', async () => {
  const [ada, ben] = [await open('ada'), await open('ben')]
  saveIssue(ada, formOf({ title: 'Tar the boat', hours: '' }), owner)
  await server.settle()
  const [issue] = ben.all('Issue')
  expect(issue?.author).toBe('ada')

  saveIssue(ada, formOf({ title: 'Tar the boats', hours: '' }), owner, issue)
  saveIssue(ben, formOf({ title: 'Tar the boat', hours: '3' }), owner, issue)
  await server.settle()
  expect(ada.all('Issue')).toMatchObject([{ title: 'Tar the boats', hours: 3 }])
  expect(ben.all('Issue')).toEqual(ada.all('Issue'))
})

test('an edit of an issue that was closed meanwhile waits in the inbox, until the issue is open again', async () => {
  const [ada, ben] = [await open('ada'), await open('ben')]
  const id = 'boat'
  ada.mutate((m) => m.insert('Issue', { id, owner, title: 'Tar the boat', hours: null, status: 'open' }))
  await server.settle()
  ada.mutate((m) => m.update('Issue', id, { status: 'closed' }))
  saveIssue(ben, formOf({ title: 'Tar it twice', hours: '' }), owner, ben.get('Issue', id))
  await server.settle()

  const [refused] = ben.outbox.list({ state: 'rejected' })
  expect(refused?.label).toBe('Edit “Tar the boat”')
  expect(refused?.rejection?.message).toBe('“Tar the boat” is closed. Reopen it to change it.')
  expect(ben.get('Issue', id)?.title).toBe('Tar the boat')

  await server.clock.until(ada.undo())
  await server.settle()
  if (refused) ben.outbox.retry(refused.id)
  await server.settle()
  expect(ada.get('Issue', id)).toMatchObject({ title: 'Tar it twice', status: 'open' })
})

test('the status line says what waits while there is no network', async () => {
  const ada = await open('ada')
  expect(describeStatus(ada.status)).toBe('All is saved and up to date.')
  server.down()
  await server.settle()
  saveIssue(ada, formOf({ title: 'Tar the boat', hours: '' }), owner)
  await server.settle()
  expect(describeStatus(ada.status)).toMatch(/^You are offline\. .+ 1 change waits to be sent\.$/)
  server.up()
  await server.settle()
  expect(describeStatus(ada.status)).toBe('All is saved and up to date.')
})
