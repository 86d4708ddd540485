import type { Parts } from './parts.ts'

/** There may be new credentials: ends the pause after a 401, with `token` if there is one. */
export function onResumed(parts: Parts, token: string | undefined): void {
  const { credentials } = parts.options
  credentials.forget()
  if (token !== undefined) credentials.use(token)
  parts.dispatch('resume')
}

/** `onUnauthenticated` has returned, with `token` if it has a new one. */
export function onRefreshed(parts: Parts, token: string | undefined): void {
  if (parts.ended) return
  if (token !== undefined) {
    parts.following.resume(token)
    parts.options.credentials.use(token)
  }
  parts.dispatch('renew')
}
