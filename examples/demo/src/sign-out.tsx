import { isSyncError, type LogoutOptions } from 'instep'
import { useState } from 'react'
import { useClient, usePending } from './hooks.ts'
import type { Reader } from './reader.ts'

/** The button that signs a user out and, if edits are unsent or refused, the choice of what becomes of them. */
export function SignOut({ reader }: { readonly reader: Reader }) {
  const client = useClient()
  const { pending, rejected } = usePending()
  const [isAsking, setIsAsking] = useState(false)
  const signOut = async (pending?: LogoutOptions['pending']) => {
    setIsAsking(false)
    try {
      await client.logout({ pending })
    } catch (error) {
      if (isSyncError(error, 'PendingError')) setIsAsking(true)
      else reader.showNotice(error instanceof Error ? error.message : String(error))
    }
  }
  // With nothing left to decide about, there is no question.
  if (!isAsking || pending.length + rejected.length === 0) {
    return (
      <button className="reload" type="button" onClick={() => signOut()}>
        Sign out
      </button>
    )
  }
  return (
    <fieldset className="choice">
      <legend>
        {pending.length} not sent, {rejected.length} refused:
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
      <button type="button" onClick={() => setIsAsking(false)}>
        Stay
      </button>
    </fieldset>
  )
}
