import { Credit } from './credit.tsx'
import type { Device } from './device.ts'
import { Pane } from './pane.tsx'
import { Server } from './server.tsx'

export function App({ devices }: { readonly devices: readonly Device[] }) {
  return (
    <>
      <header className="masthead">
        <h1>Instep</h1>
        <p>Two people, each with a copy of every town in the world.</p>
        <p>
          <strong>Try:</strong> cut both cables, open the same town in both, change it, reload, mend.
        </p>
      </header>
      <main>
        <Server />
        <div className="panes">
          {devices.map((device) => (
            <Pane key={device.user} device={device} />
          ))}
        </div>
      </main>
      <Credit />
    </>
  )
}
