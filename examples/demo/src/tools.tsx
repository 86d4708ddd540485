import type { Reader } from './reader.ts'
import { useUndoTools } from './use-undo-tools.ts'

interface ToolsProps {
  readonly reader: Reader
  readonly onAdd: () => void
}

export function Tools({ reader, onAdd }: ToolsProps) {
  const { canUndo, canRedo, undo, redo } = useUndoTools(reader)
  return (
    <>
      <button type="button" onClick={undo} disabled={!canUndo} title="Ctrl Z">
        Undo
      </button>
      <button type="button" onClick={redo} disabled={!canRedo} title="Ctrl Shift Z">
        Redo
      </button>
      <button type="button" onClick={onAdd}>
        Add a place
      </button>
    </>
  )
}
