import type { Cable } from './cable.ts'
import { describeConnection } from './describe-status.ts'
import { useSyncStatus } from './hooks.ts'
import { useStore } from './store.ts'

interface CableSwitchProps {
  readonly cable: Cable
  readonly name: string
}

/** The cable between the server above and the pane below. */
export function CableSwitch({ cable, name }: CableSwitchProps) {
  const tone = useSyncStatus((status) => describeConnection(status).tone)
  const position = useSyncStatus(({ lastSyncId }) => lastSyncId)
  const isCut = useStore(cable.isCut)
  return (
    <div className="cable" data-tone={isCut ? 'cut' : tone}>
      <span className="wire" />
      <button type="button" onClick={() => (isCut ? cable.mend() : cable.cut())}>
        {isCut ? 'Mend' : 'Cut'} {name}’s cable
      </button>
      <span className="wire" />
      {/* A new key for each position restarts the animation. */}
      <span key={position} className="pulse" />
    </div>
  )
}
