import { CableSwitch } from './cable-switch.tsx'
import { Copy } from './copy.tsx'
import type { Device } from './device.ts'
import { SyncProvider } from './hooks.ts'
import { useStore } from './store.ts'
import { nameOf } from './users.ts'

/** One user's device: the copy of the data, and the cable to the server. */
export function Pane({ device }: { readonly device: Device }) {
  const reader = useStore(device.reader)
  const name = nameOf(reader.user)
  return (
    <SyncProvider client={reader.client}>
      <section className="pane" aria-labelledby={device.user}>
        <CableSwitch cable={device.cable} name={name} />
        <Copy key={reader.openedAt} device={device} reader={reader} name={name} />
      </section>
    </SyncProvider>
  )
}
