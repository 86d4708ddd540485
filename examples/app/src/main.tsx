import { useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { Harbour } from './harbour.tsx'
import { forgetSession, restoreSession, SyncProvider } from './session.ts'
import { SignIn } from './sign-in.tsx'

function App() {
  const [session, setSession] = useState(restoreSession)
  const client = session?.client
  // The user may sign out in another tab, too.
  useEffect(
    () =>
      client?.on('status', ({ lifecycle }) => {
        if (lifecycle !== 'signed-out') return
        forgetSession()
        setSession(undefined)
      }),
    [client],
  )
  if (!session) return <SignIn onSignIn={setSession} />
  return (
    <SyncProvider client={session.client}>
      <Harbour session={session} />
    </SyncProvider>
  )
}

const root = document.getElementById('root')
if (root) createRoot(root).render(<App />)
// A page that is neither on localhost nor served by HTTPS has no service workers.
void navigator.serviceWorker?.register('/service-worker.js')
