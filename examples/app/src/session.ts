import { type ClientOf, indexedDbStore, type RecordOf, SyncClient } from 'instep'
import { createHooks } from 'instep/react'
import { models } from '../models.ts'

export const { SyncProvider, useClient, useLiveQuery, usePending, useSyncStatus, useUndo } =
  createHooks<typeof models>()

export type Client = ClientOf<typeof models>
export type Issue = RecordOf<typeof models, 'Issue'>

/** A user who is signed in. */
export interface Session {
  readonly userId: string
  readonly client: Client
  /** Joins or leaves a team. The client learns of it from the service. */
  setMember(team: string, isMember: boolean): Promise<void>
}

const key = 'session'

export async function signIn(userId: string): Promise<Session> {
  return openSession(userId, await fetchToken(userId))
}

/** The session of the last visit. It does not need the network. */
export function restoreSession(): Session | undefined {
  const stored = localStorage.getItem(key)
  if (stored === null) return undefined
  const { userId, token } = JSON.parse(stored)
  return openSession(userId, token)
}

export function forgetSession(): void {
  localStorage.removeItem(key)
}

function openSession(userId: string, firstToken: string): Session {
  let token = firstToken
  const keep = () => localStorage.setItem(key, JSON.stringify({ userId, token }))
  keep()
  const client = new SyncClient({
    baseUrl: '/sync/v1',
    token: () => token,
    identity: userId,
    models,
    store: indexedDbStore(),
    // The server refuses the token. If only the user can get another one, return nothing, and show your sign-in.
    async onUnauthenticated() {
      token = await fetchToken(userId)
      keep()
      return token
    },
  })
  return {
    userId,
    client,
    async setMember(team, isMember) {
      const headers = { Authorization: `Bearer ${token}` }
      await fetch(`/teams/${team}/members`, { method: isMember ? 'PUT' : 'DELETE', headers })
    },
  }
}

async function fetchToken(userId: string): Promise<string> {
  const response = await fetch(`/sign-in/${userId}`, { method: 'POST' })
  if (!response.ok) throw new Error(await response.text())
  return response.text()
}
