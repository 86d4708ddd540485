import { act, isValidElement, type ReactNode, StrictMode, Suspense } from 'react'
import { hydrateRoot } from 'react-dom/client'
import { renderToString } from 'react-dom/server.browser'
import type { Status, Transaction } from '../../src/index.ts'
import {
  SyncProvider,
  useLiveQuery,
  usePending,
  useRecord,
  useSuspenseQuery,
  useSyncStatus,
  useTransactionState,
  useUndo,
} from '../../src/react/index.ts'
import { same } from '../../src/storage/contract/context.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { VirtualChannels } from '../../src/testing/virtual-channels.ts'
import type { PageCase } from '../browser/in-page.ts'
import { perOrigin } from '../support/per-origin.ts'
import { pageCase, type Scene } from './scene.tsx'
import { WatchedClient } from './watched-client.ts'

const rendered: unknown[] = []

function Writes(): ReactNode {
  const writes = useSyncStatus(({ writes: { pending, rejected } }) => ({ pending, rejected }))
  rendered.push(writes)
  return `${writes.pending} pending, ${writes.rejected} rejected`
}

/** What is made anew for each status, however little of it is another. */
const selections: { readonly [what: string]: (status: Status) => unknown } = {
  'a nested object': ({ writes }) => ({ of: { pending: writes.pending } }),
  'a list of objects': ({ writes }) => [{ pending: writes.pending }],
  'an object of more fields': ({ writes }) => (writes.pending > 0 ? { of: 1, pending: 1 } : { of: 1 }),
  'an object of another field': ({ writes }) => (writes.pending > 0 ? { pending: 1 } : { none: undefined }),
  'a list in place of an object': ({ writes }) => (writes.pending > 0 ? [1] : { 0: 1 }),
  'an element': ({ writes }) => <b>{writes.pending}</b>,
  'a Date': ({ writes }) => new Date(writes.pending),
  'a Set': ({ writes }) => new Set([writes.pending]),
  'a Map': ({ writes }) => new Map([['pending', writes.pending]]),
}

function Selected({ select }: { readonly select: (status: Status) => unknown }): ReactNode {
  rendered.push(useSyncStatus((status) => select(status)))
  return rendered.length
}

function Lifecycle(): ReactNode {
  return useSyncStatus(({ lifecycle }) => lifecycle)
}

function Connection(): ReactNode {
  return useSyncStatus().connection.state
}

function Light({ tx }: { readonly tx: Transaction }): ReactNode {
  const state = useTransactionState(tx)
  rendered.push(state)
  return `${tx.label}: ${state};`
}

function Inbox(): ReactNode {
  const { pending, rejected } = usePending()
  return [...pending, ...rejected].map((tx) => <Light key={tx.id} tx={tx} />)
}

function Undo(): ReactNode {
  const controls = useUndo()
  rendered.push(controls)
  return `${controls.canUndo ? 'undo' : ''} ${controls.canRedo ? 'redo' : ''}`
}

function Issue(): ReactNode {
  const { rows } = useLiveQuery('Issue')
  return `${rows.length} ${useRecord('Issue', 'i1')?.title} ${useSyncStatus(({ data }) => data.state)}`
}

function Titles(): ReactNode {
  const { rows } = useSuspenseQuery('Issue')
  return rows.map(({ title }) => title).join() || 'none'
}

/** What an element, a set or a map holds, too. */
function textOf(selection: unknown): string {
  if (isValidElement(selection)) return renderToString(selection)
  const isList = selection instanceof Set || selection instanceof Map
  return JSON.stringify(isList ? [...selection] : selection)
}

function socketsOf({ server }: Scene): number {
  return server.requests.filter(({ endpoint }) => endpoint === 'ws').length
}

export const statusCases: readonly PageCase[] = [
  pageCase('a page shows no records after the user has signed out in another tab', async (scene) => {
    const { server } = scene
    const store = { ...memoryStore(), shared: perOrigin }
    const Channel = new VirtualChannels()
    const tab = () => {
      const environment = { ...server.environment, BroadcastChannel: Channel.page() }
      return new WatchedClient({
        baseUrl: server.baseUrl,
        environment,
        store,
        identity: 'ada',
        token: server.token('ada'),
      })
    }
    const [here, there] = [tab(), tab()]
    await scene.renderBare(
      <SyncProvider client={here}>
        <Suspense>
          <Titles /> <Lifecycle />
        </Suspense>
      </SyncProvider>,
    )
    await act(async () => void there.start())
    await scene.write(['i1', 'Lamp'])
    scene.shows('Lamp running')
    await act(async () => void (await server.clock.until(there.logout())))
    scene.shows('none signed-out')
    await scene.leave()
    same(here.listeners, 0, 'the listeners that are left')
  }),
  pageCase('a page shows whether there is something to undo, and undoes it', async (scene) => {
    await scene.render(<Undo />)
    await scene.write(['i1', 'Lamp'])
    scene.shows(' ')
    await act(async () => void scene.client.mutate((m) => m.update('Issue', 'i1', { title: 'Lamp out' })))
    scene.shows('undo ')
    const { undo, redo } = rendered.at(-1) as ReturnType<typeof useUndo>
    await act(async () => void undo())
    await scene.settle()
    scene.shows(' redo')
    same(scene.client.get('Issue', 'i1')?.title, 'Lamp', 'what is shown')
    await act(async () => void redo())
    await scene.settle()
    scene.shows('undo ')
    same(scene.client.get('Issue', 'i1')?.title, 'Lamp out', 'what is shown')
  }),

  pageCase('nothing can be undone once the client is closed', async (scene) => {
    await scene.render(<Undo />)
    await scene.write(['i1', 'Lamp'])
    await act(async () => {
      scene.client.mutate((m) => m.update('Issue', 'i1', { title: 'Dark' }))
      scene.client.mutate((m) => m.update('Issue', 'i1', { title: 'Lit' }))
      await scene.client.undo()
    })
    await scene.settle()
    scene.shows('undo redo')
    await act(async () => void scene.client.close())
    scene.shows(' ')
  }),

  pageCase('strict mode opens one socket, and leaving the page closes it', async (scene) => {
    await scene.render(<Connection />)
    await scene.settle()
    scene.shows('socket')
    same(socketsOf(scene), 1, 'the sockets')
    await scene.leave()
    same(scene.client.status.connection.state, 'idle', 'the connection')
    await scene.render(<Connection />)
    await scene.settle()
    same(
      [scene.client.status.connection.state, socketsOf(scene)],
      ['socket', 2],
      'the socket of the next page',
    )
  }),

  pageCase('a client of several providers runs until the last one is unmounted', async (scene) => {
    await scene.render(
      <SyncProvider client={scene.client}>
        <Connection />
      </SyncProvider>,
    )
    await scene.settle()
    scene.shows('socket')
    await scene.render(<Connection />)
    await scene.settle()
    scene.shows('socket')
    same(socketsOf(scene), 1, 'the sockets')
    await scene.leave()
    same(scene.client.status.lifecycle, 'stopped', 'the client')
  }),

  pageCase('a client that ran before keeps running when the page is left', async (scene) => {
    await scene.client.start()
    await scene.render(<Connection />)
    await scene.leave()
    await scene.settle()
    same(scene.client.status.connection.state, 'socket', 'the connection')
  }),

  pageCase(
    'a client that the application started again keeps running when the next page is left',
    async (scene) => {
      await scene.render(<Connection />)
      await scene.settle()
      await scene.leave()
      same(scene.client.status.lifecycle, 'stopped', 'the client')
      await scene.client.start()
      await scene.render(<Connection />)
      await scene.leave()
      same(scene.client.status.lifecycle, 'running', 'the client')
    },
  ),

  pageCase('another provider does not start a client that the application stopped', async (scene) => {
    const { client } = scene
    await scene.render(<Connection />)
    await scene.settle()
    await act(() => client.stop())
    await scene.render(
      <SyncProvider client={client}>
        <Connection />
      </SyncProvider>,
    )
    await scene.settle()
    scene.shows('idle')
    await scene.leave()
    await scene.render(<Connection />)
    await scene.settle()
    scene.shows('socket')
  }),

  pageCase('another client replaces the previous one', async (scene) => {
    await scene.render(<Issue />)
    await scene.write(['i1', 'Cable'])
    scene.shows('1 Cable current')
    const other = scene.newClient()
    await scene.render(<Issue />, other)
    scene.shows('0 undefined none')
    same([scene.client.listeners, scene.client.status.lifecycle], [0, 'stopped'], 'the client before')
    await scene.settle()
    scene.shows('1 Cable current')
    await scene.leave()
    same([other.listeners, other.status.lifecycle], [0, 'stopped'], 'the other client')
    await scene.server.clock.until(other.close())
  }),

  pageCase('pending changes and undo belong to the current client', async (scene) => {
    const page = (
      <>
        <Undo />
        <Inbox />
      </>
    )
    const other = scene.newClient()
    scene.server.down()
    await act(async () => {
      scene.client.mutate((m) => m.insert('Issue', { id: 'i1' }), { label: 'Mine' })
      other.mutate((m) => m.insert('Issue', { id: 'i2' }), { label: 'Theirs' })
    })
    await scene.render(page)
    await scene.settle()
    scene.shows('undo Mine: queued;')
    await scene.render(page, other)
    await scene.settle()
    scene.shows('undo Theirs: queued;')
    const { undo } = rendered.findLast((each) => typeof each === 'object') as ReturnType<typeof useUndo>
    await act(async () => void undo())
    await scene.settle()
    // Nothing of it was sent, so nothing is left of it.
    scene.shows(' redo')
    same([scene.client.canUndo, other.canUndo], [true, false], 'what can be undone')
    await scene.leave()
    await scene.server.clock.until(other.close())
  }),

  pageCase('another transaction replaces the previous one', async (scene) => {
    await scene.client.start()
    const [first, second] = ['First', 'Second'].map((label) =>
      scene.client.mutate((m) => m.insert('Issue', { id: label }), { label }),
    )
    if (!first || !second) throw new Error('There are two.')
    scene.server.down()
    await scene.render(<Light tx={first} />)
    await scene.settle()
    scene.shows('First: queued;')
    await scene.render(<Light tx={second} />)
    scene.shows('Second: queued;')
    scene.server.up()
    await scene.settle()
    scene.shows('Second: synced;')
  }),

  pageCase('another selection replaces the previous one', async (scene) => {
    await scene.client.start()
    await scene.render(<Selected select={({ data }) => data.state} />)
    await scene.settle()
    same(rendered.at(-1), 'current', 'what is selected')
    await scene.render(<Selected select={({ connection }) => connection.state} />)
    same(rendered.at(-1), 'socket', 'what is selected')
  }),

  pageCase(
    'a component renders only when its selection changes, also if each selection is a new object',
    async (scene) => {
      await scene.render(<Writes />)
      await scene.settle()
      scene.shows('0 pending, 0 rejected')
      rendered.length = 0
      await scene.write(['i1', 'Cable'])
      same(rendered, [], 'what was rendered')
      scene.server.down()
      await act(async () => void scene.client.mutate((m) => m.update('Issue', 'i1', { title: 'Mine' })))
      scene.shows('1 pending, 0 rejected')
    },
  ),

  ...Object.entries(selections).map(([what, select]) =>
    pageCase(`a selection may be ${what}, and belongs to the shown status`, async (scene) => {
      await scene.render(<Selected select={select} />)
      await scene.write(['i1', 'Cable'])
      await act(async () => scene.server.down())
      await act(async () => void scene.client.mutate((m) => m.update('Issue', 'i1', { title: 'Mine' })))
      same(textOf(rendered.at(-1)), textOf(select(scene.client.status)), 'what is selected')
      same(scene.client.status.writes.pending, 1, 'the changes on their way')
    }),
  ),

  pageCase('pending and rejected changes are listed, with their states as these change', async (scene) => {
    await scene.render(<Inbox />)
    await scene.write(['i1', 'Cable'])
    scene.shows('')
    rendered.length = 0
    await act(async () => {
      scene.client.mutate((m) => m.update('Issue', 'i1', { title: 'Mine' }), { label: 'Rename' })
    })
    await scene.settle()
    scene.shows('')
    same([rendered[0], rendered.at(-1)], ['writing', 'sending'], 'the states on the way')

    scene.server.reject('forbidden')
    await act(async () => {
      scene.client.mutate((m) => m.delete('Issue', 'i1'), { label: 'Delete' })
    })
    await scene.settle()
    scene.shows('Delete: rejected;')
    const [rejected] = scene.client.outbox.list({ state: 'rejected' })
    await act(async () => scene.client.outbox.discard(rejected?.id ?? ''))
    scene.shows('')
  }),

  pageCase('a page that a server rendered is hydrated as it is, and then shows the data', async (scene) => {
    await scene.client.start()
    await scene.write(['i1', 'Cable'])
    const page = (
      <StrictMode>
        <SyncProvider client={scene.client}>
          <Issue />
        </SyncProvider>
      </StrictMode>
    )
    scene.element.innerHTML = renderToString(page)
    scene.shows('0 undefined none')
    const mismatches: unknown[] = []
    await act(async () => {
      scene.root = hydrateRoot(scene.element, page, { onRecoverableError: (error) => mismatches.push(error) })
    })
    scene.shows('1 Cable current')
    same(mismatches, [], 'what React had to mend')
  }),

  pageCase('a part that suspends is hydrated, too, and then waits', async (scene) => {
    const page = (
      <StrictMode>
        <SyncProvider client={scene.client}>
          <Suspense fallback="Loading">
            <Titles />
          </Suspense>
        </SyncProvider>
      </StrictMode>
    )
    scene.element.innerHTML = renderToString(page)
    scene.shows('none')
    const mismatches: unknown[] = []
    await act(async () => {
      scene.root = hydrateRoot(scene.element, page, { onRecoverableError: (error) => mismatches.push(error) })
    })
    scene.shows('Loading')
    await scene.write(['i1', 'Cable'])
    scene.shows('Cable')
    same(mismatches, [], 'what React had to mend')
  }),
]
