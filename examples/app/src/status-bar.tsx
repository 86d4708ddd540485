import { describeStatus } from './describe-status.ts'
import { useSyncStatus, useUndo } from './session.ts'

export function StatusBar() {
  const text = useSyncStatus(describeStatus)
  const isOffline = useSyncStatus(({ connection }) => connection.state === 'offline')
  const { canUndo, canRedo, undo, redo } = useUndo()
  return (
    <div className="bar">
      <p role="status" className={isOffline ? 'status offline' : 'status'}>
        {text}
      </p>
      <span>
        <button type="button" disabled={!canUndo} onClick={undo}>
          Undo
        </button>
        <button type="button" disabled={!canRedo} onClick={redo}>
          Redo
        </button>
      </span>
    </div>
  )
}
