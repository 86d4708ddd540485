import { isSyncError, type LogoutOptions, type PendingError } from 'instep'
import { useState } from 'react'
import { useClient } from './session.ts'

/** Signs the user out of all tabs. If something is unsent or refused, it asks what is to become of it. */
export function SignOut({ userId }: { readonly userId: string }) {
  const client = useClient()
  const [question, setQuestion] = useState<PendingError>()
  const signOut = async (pending?: LogoutOptions['pending']) => {
    try {
      await client.logout({ pending })
    } catch (error) {
      if (!isSyncError(error, 'PendingError')) throw error
      setQuestion(error)
    }
  }
  if (!question) {
    return (
      <button type="button" onClick={() => signOut()}>
        Sign {userId} out
      </button>
    )
  }
  return (
    <fieldset className="refused">
      <legend>
        {question.pending} not sent, {question.rejected} refused
      </legend>
      {question.pending > 0 && (
        <button type="button" onClick={() => signOut('flush')}>
          Send first
        </button>
      )}
      <button type="button" onClick={() => signOut('keep')}>
        Keep on this device
      </button>
      <button type="button" onClick={() => signOut('discard')}>
        Discard
      </button>
      <button type="button" onClick={() => setQuestion(undefined)}>
        Stay
      </button>
    </fieldset>
  )
}
