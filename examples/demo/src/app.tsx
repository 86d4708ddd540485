import { Credit } from './credit.tsx'
import { Pane } from './pane.tsx'
import type { Reader } from './reader.ts'
import { Server } from './server.tsx'

export function App({ readers }: { readonly readers: readonly Reader[] }) {
  return (
    <>
      <header className="masthead">
        <h1>Instep</h1>
        <p>
          Two people, each with a copy of every town in the world. Cut a cable, change the server, mend it.
        </p>
      </header>
      <main>
        <Server />
        <div className="panes">
          {readers.map((reader) => (
            <Pane key={reader.user} reader={reader} />
          ))}
        </div>
      </main>
      <Credit />
    </>
  )
}
