import type { Described } from './describe-status.ts'
import type { Reader } from './reader.ts'
import { useStore } from './store.ts'

interface CableSwitchProps {
  readonly reader: Reader
  readonly name: string
  readonly tone: Described['tone']
  /** Another number shows that something came. */
  readonly position: number
}

/** The cable between the server above and the pane below. */
export function CableSwitch({ reader: { cable }, name, tone, position }: CableSwitchProps) {
  const isCut = useStore(cable.isCut)
  return (
    <div className="cable" data-tone={isCut ? 'cut' : tone}>
      <span className="wire" />
      <button type="button" onClick={() => (isCut ? cable.mend() : cable.cut())}>
        {isCut ? 'Mend' : 'Cut'} {name}’s cable
      </button>
      <span className="wire" />
      <span key={position} className="pulse" />
    </div>
  )
}
