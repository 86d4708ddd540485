import { useState } from 'react'
import { users } from '../models.ts'
import { type Session, signIn } from './session.ts'

export function SignIn({ onSignIn }: { readonly onSignIn: (session: Session) => void }) {
  const [problem, setProblem] = useState('')
  const choose = (userId: string) =>
    signIn(userId).then(onSignIn, () => setProblem('The server cannot be reached. Please try again later.'))
  return (
    <main className="card sign-in">
      <h1>Harbour</h1>
      <p>Who are you?</p>
      {users.map((userId) => (
        <button type="button" key={userId} onClick={() => choose(userId)}>
          {userId}
        </button>
      ))}
      <p className="quiet">There are no passwords here: this is for development only.</p>
      {problem && <p role="alert">{problem}</p>}
    </main>
  )
}
