import type { KeyboardEvent } from 'react'
import { useUndo } from './hooks.ts'
import type { Reader } from './reader.ts'

/** Undo and redo, for buttons and for keys. */
export function useUndoTools(reader: Reader) {
  const { canUndo, canRedo, ...steps } = useUndo()
  const step = async (work: () => Promise<boolean>, otherwise: string) => {
    try {
      if (!(await work())) reader.showNotice(otherwise)
    } catch (error) {
      reader.showNotice(String(error))
    }
  }
  const undo = () => step(steps.undo, 'There is nothing to undo.')
  const redo = () => step(steps.redo, 'There is nothing to redo.')

  const onKeyDown = (event: KeyboardEvent) => {
    // In a text field, the keys undo typing.
    if (event.target instanceof HTMLInputElement || !(event.ctrlKey || event.metaKey)) return
    const key = event.key.toLowerCase()
    if (key !== 'z' && key !== 'y') return
    event.preventDefault()
    void (key === 'y' || event.shiftKey ? redo() : undo())
  }
  return { canUndo, canRedo, undo, redo, onKeyDown }
}
