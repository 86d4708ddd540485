import type { Reader } from './reader.ts'
import { useUndo } from './use-undo.ts'

interface ToolsProps {
  readonly reader: Reader
  readonly onAdd: () => void
}

export function Tools({ reader, onAdd }: ToolsProps) {
  const { undo, redo } = useUndo(reader)
  return (
    <>
      <button type="button" onClick={undo} title="Ctrl Z">
        Undo
      </button>
      <button type="button" onClick={redo} title="Ctrl Shift Z">
        Redo
      </button>
      <button type="button" onClick={onAdd}>
        Add a place
      </button>
    </>
  )
}
