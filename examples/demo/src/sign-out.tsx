import { isSyncError, type LogoutOptions, type PendingError } from 'instep'
import { useState } from 'react'
import { useClient } from './hooks.ts'
import type { Reader } from './reader.ts'

/** The button that signs a user out and, if edits are unsent or refused, the choice of what becomes of them. */
export function SignOut({ reader }: { readonly reader: Reader }) {
  const client = useClient()
  const [refusal, setRefusal] = useState<PendingError>()
  const signOut = async (pending?: LogoutOptions['pending']) => {
    setRefusal(undefined)
    try {
      await client.logout({ pending })
    } catch (error) {
      if (isSyncError(error, 'PendingError')) setRefusal(error)
      else reader.showNotice(error instanceof Error ? error.message : String(error))
    }
  }
  if (!refusal) {
    return (
      <button className="reload" type="button" onClick={() => signOut()}>
        Sign out
      </button>
    )
  }
  return (
    <fieldset className="choice">
      <legend>
        {refusal.pending} not sent, {refusal.rejected} refused:
      </legend>
      <button type="button" onClick={() => signOut('flush')}>
        Send
      </button>
      <button type="button" onClick={() => signOut('keep')}>
        Keep
      </button>
      <button type="button" onClick={() => signOut('discard')}>
        Discard
      </button>
      <button type="button" onClick={() => setRefusal(undefined)}>
        Stay
      </button>
    </fieldset>
  )
}
