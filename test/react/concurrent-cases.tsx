import { act, type ReactNode, startTransition, useLayoutEffect } from 'react'
import { SyncProvider, useClient, useLiveQuery, usePending } from '../../src/react/index.ts'
import { same } from '../../src/storage/contract/context.ts'
import type { PageCase } from '../browser/in-page.ts'
import { pageCase } from './scene.tsx'

/** Changes the data while React renders, as what comes between two slices of its work does. */
function Between(): ReactNode {
  const client = useClient()
  if (!client.get('Issue', 'i1')?.done) client.mutate((m) => m.update('Issue', 'i1', { done: true }))
  return ' '
}

/** What stood in the page as soon as it was put there. */
let committed: string | null = null

function Committed({ element }: { readonly element: HTMLElement }): ReactNode {
  useLayoutEffect(() => {
    committed ??= element.textContent
  })
  return null
}

function Rows(): ReactNode {
  return String(useLiveQuery('Issue').rows[0]?.done)
}

function Part(): ReactNode {
  return String(useLiveQuery('Issue').slice(0, 1)[0]?.done)
}

function Length(): ReactNode {
  return useLiveQuery('Issue', { where: { done: true } }).length
}

function Pending(): ReactNode {
  return usePending().pending.length
}

export const concurrentCases: readonly PageCase[] = [Rows, Part, Length, Pending].map((Reading) =>
  pageCase(`what changes while React renders is shown everywhere at once: ${Reading.name}`, async (scene) => {
    const { client, element } = scene
    await scene.render(null)
    await scene.write(['i1', 'Cable'])
    committed = null
    const page = [
      <Reading key="before" />,
      <Between key="between" />,
      <Reading key="after" />,
      <Committed key="committed" element={element} />,
    ]
    await act(async () =>
      startTransition(() => scene.root?.render(<SyncProvider client={client}>{page}</SyncProvider>)),
    )
    const [before, after] = (committed ?? '').split(' ')
    same(before, after, 'what was shown at first')
  }),
)
