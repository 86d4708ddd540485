import { act, type ReactNode, startTransition, useLayoutEffect } from 'react'
import type { DataRecord } from '../../src/index.ts'
import { type QueryResult, SyncProvider, useClient, useLiveQuery, usePending } from '../../src/react/index.ts'
import { same } from '../../src/storage/contract/context.ts'
import type { PageCase } from '../browser/in-page.ts'
import { pageCase, type Scene } from './scene.tsx'

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

const textOf = (rows: readonly DataRecord[]) => rows.map(({ done }) => String(done)).join()

function Rows(): ReactNode {
  return String(useLiveQuery('Issue').rows.at(-1)?.done)
}

function Part(): ReactNode {
  return textOf(useLiveQuery('Issue').slice(-1, 9))
}

function Length(): ReactNode {
  return useLiveQuery('Issue', { where: { done: true } }).length
}

function Pending(): ReactNode {
  return usePending().pending.length
}

interface Passed {
  readonly result: QueryResult<DataRecord>
  readonly read: (result: QueryResult<DataRecord>) => string
}

const done: Passed['read'] = ({ rows }) => textOf(rows)
const end: Passed['read'] = ({ cursor }) => String(cursor?.values)
const part: Passed['read'] = ({ slice }) => textOf(slice(1, 9))

function Again({ result, read }: Passed): ReactNode {
  return read(result)
}

/** Reads a result, and has it read once more below. */
function Passing({ read }: Pick<Passed, 'read'>): ReactNode {
  const result = useLiveQuery('Issue', { orderBy: ['title', 'done'] })
  return [read(result), <Between key="between" />, <Again key="below" result={result} read={read} />]
}

/** Shows `page` in slices, and looks whether it says the same on both sides of `Between`. */
async function showsOneMoment(scene: Scene, page: ReactNode): Promise<void> {
  const { client, element } = scene
  await scene.render(null)
  await scene.write(['i0', 'Booth'], ['i1', 'Cable'])
  committed = null
  await act(async () =>
    startTransition(() =>
      scene.root?.render(
        <SyncProvider client={client}>
          {page}
          <Committed element={element} />
        </SyncProvider>,
      ),
    ),
  )
  const [before, after] = (committed ?? '').split(' ')
  same(before, after, 'what was shown at first')
}

export const concurrentCases: readonly PageCase[] = [
  ...[Rows, Part, Length, Pending].map((Reading) =>
    pageCase(`a change during rendering is shown everywhere at once: ${Reading.name}`, (scene) =>
      showsOneMoment(scene, [<Reading key="before" />, <Between key="between" />, <Reading key="after" />]),
    ),
  ),
  ...[done, end, part].map((read) =>
    pageCase(`a result that is passed to a child has the same content there: ${read.name}`, (scene) =>
      showsOneMoment(scene, <Passing read={read} />),
    ),
  ),
]
