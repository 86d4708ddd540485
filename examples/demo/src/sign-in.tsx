import { nameOf, users } from './users.ts'

/** Shown in a pane while nobody is signed in. */
export function SignIn({ onSignIn }: { readonly onSignIn: (user: string) => void }) {
  return (
    <div className="first-sync">
      <p>Signed out. Nothing of the user is left on this device but what was kept.</p>
      <p className="choice">
        {users.map((user) => (
          <button key={user} type="button" onClick={() => onSignIn(user)}>
            Sign in as {nameOf(user)}
          </button>
        ))}
      </p>
    </div>
  )
}
