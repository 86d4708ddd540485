import { memo, useCallback, useRef, useState } from 'react'
import { Edits } from './edits.tsx'
import { Inbox } from './inbox.tsx'
import { Latest } from './latest.tsx'
import { Notice } from './notice.tsx'
import { PlaceEditor } from './place-editor.tsx'
import { Places } from './places.tsx'
import type { Reader } from './reader.ts'
import { useUndoTools } from './use-undo-tools.ts'

/** The place that the user edits: an id, or a new place. */
interface Edited {
  readonly id: string | undefined
}

/** The list of places, the latest changes, and the place that the user edits. */
export const Workplace = memo(function Workplace({ reader }: { readonly reader: Reader }) {
  const [edited, setEdited] = useState<Edited>()
  const { onKeyDown } = useUndoTools(reader)
  const opener = useRef<Element>(null)
  const open = useCallback((id?: string) => {
    opener.current = document.activeElement
    setEdited({ id })
  }, [])
  const close = () => {
    setEdited(undefined)
    if (opener.current instanceof HTMLElement) opener.current.focus()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys for undo work in the whole area
    <div className="workplace" onKeyDown={onKeyDown}>
      <div className="activity">
        <Latest reader={reader} onOpen={open} />
        <Edits reader={reader} />
      </div>
      <Places reader={reader} onOpen={open} />
      <Notice reader={reader} />
      <div className="dock">
        <Inbox />
        {edited && <PlaceEditor key={edited.id} id={edited.id} onClose={close} />}
      </div>
    </div>
  )
})
