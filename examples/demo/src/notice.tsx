import type { Reader } from './reader.ts'
import { useStore } from './store.ts'

/** What the user is told for a while; it covers the end of what stands before it. */
export function Notice({ reader }: { readonly reader: Reader }) {
  const notice = useStore(reader.notice)
  return (
    <div className="passing" role="status">
      {notice && <p className="notice">{notice}</p>}
    </div>
  )
}
