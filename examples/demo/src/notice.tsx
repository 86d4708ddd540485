import type { Reader } from './reader.ts'
import { useStore } from './store.ts'

/** A temporary notice for the user. It covers the end of the element before it. */
export function Notice({ reader }: { readonly reader: Reader }) {
  const notice = useStore(reader.notice)
  return (
    <div className="passing" role="status">
      {notice && <p className="notice">{notice}</p>}
    </div>
  )
}
