import { teams } from '../models.ts'
import { Inbox } from './inbox.tsx'
import { Notes } from './notes.tsx'
import { type Session, useLiveQuery } from './session.ts'
import { SignOut } from './sign-out.tsx'
import { StatusBar } from './status-bar.tsx'
import { Team } from './team.tsx'

/** The page of a user who is signed in. */
export function Harbour({ session }: { readonly session: Session }) {
  const { rows: memberships } = useLiveQuery('Membership')
  const isIn = (team: string) => memberships.some((membership) => membership.team === team)
  return (
    <>
      <header>
        <h1>Harbour</h1>
        <SignOut userId={session.userId} />
      </header>
      <StatusBar />
      <Inbox />
      <main className="cards">
        <Notes />
        {teams.map((team) => (
          <Team key={team} team={team} isMember={isIn(team)} session={session} />
        ))}
      </main>
    </>
  )
}
