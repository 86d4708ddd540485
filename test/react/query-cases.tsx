import { act, Component, type ReactNode, Suspense, useLayoutEffect, useState } from 'react'
import { flushSync } from 'react-dom'
import * as z from 'zod/mini'
import { collation, type DataRecord, defineModels, memoryStore, model } from '../../src/index.ts'
import {
  type QueryResult,
  SyncProvider,
  useClient,
  useLiveQuery,
  usePending,
  useRecord,
  useSuspenseQuery,
} from '../../src/react/index.ts'
import { same } from '../../src/storage/contract/context.ts'
import type { PageCase } from '../browser/in-page.ts'
import { pageCase } from './scene.tsx'
import { WatchedClient } from './watched-client.ts'

const lazyModels = defineModels({
  Issue: z.looseObject({}),
  Event: model(z.looseObject({}), { load: 'lazy' }),
})

/** Every array of rows that was rendered, in order. */
const rendered: (readonly unknown[])[] = []

function Titles({ prefix = '' }: { readonly prefix?: string }): ReactNode {
  const { rows, status } = useLiveQuery('Issue', {
    where: { title: { startsWith: prefix } },
    orderBy: ['title'],
  })
  rendered.push(rows)
  return `${status}: ${rows.map(({ title }) => title).join()}`
}

function Filtered({ filter }: { readonly filter: (issue: { readonly id: string }) => boolean }): ReactNode {
  const { length, slice } = useLiveQuery('Issue', { filter })
  return `${slice(0, 1)[0]?.id} of ${length}`
}

/** Every result that was rendered, in order. */
const results: QueryResult<DataRecord>[] = []

function Length(): ReactNode {
  const result = useLiveQuery('Issue', { orderBy: 'title' })
  results.push(result)
  return result.length
}

/** As a hook of an application's own gives more than it takes. */
function Copied(): ReactNode {
  const { status, rows, length, slice, cursor } = { ...useLiveQuery('Issue', { orderBy: 'title' }) }
  const { pending, rejected } = { ...usePending() }
  return [
    status,
    rows?.length,
    length,
    slice(0, 1)[0]?.id,
    cursor?.id,
    pending?.length,
    rejected?.length,
  ].join()
}

let renders = 0

/** Asks for what no render before it asked for. */
function Later(): ReactNode {
  renders += 1
  const { slice } = useLiveQuery('Issue', { where: { createdAt: { ne: renders } } })
  return slice(1, 9).length + slice(-1, 1).length
}

function FilteredInPlace(): ReactNode {
  const { status, slice } = useLiveQuery('Issue', { filter: ({ id }) => id !== 'i2' })
  return `${status}: ${slice(0, 9).map(({ title }) => title)}`
}

function Below({ most }: { readonly most: number }): ReactNode {
  return useLiveQuery('Issue', { where: { size: { lt: most } } }).length
}

function Titled({ title }: { readonly title: unknown }): ReactNode {
  return useLiveQuery('Issue', { where: { title: title as string } }).length
}

function Searched({ locale, part }: { readonly locale: string; readonly part: string }): ReactNode {
  const { by, contains } = collation(locale)
  const { rows } = useLiveQuery('Issue', { where: { title: contains(part) }, orderBy: by('title') })
  return rows.map(({ title }) => title).join()
}

/** Changes the data after it was rendered, and before it is subscribed to. */
function useHaste(): void {
  const client = useClient()
  useLayoutEffect(() => {
    if (!client.get('Issue', 'i1')?.done) client.mutate((m) => m.update('Issue', 'i1', { done: true }))
  }, [client])
}

function HastyRows(): ReactNode {
  useHaste()
  return String(useLiveQuery('Issue').rows[0]?.done)
}

function HastyPart(): ReactNode {
  useHaste()
  return String(useLiveQuery('Issue').slice(0, 1)[0]?.done)
}

function HastyLength(): ReactNode {
  useHaste()
  return String(useLiveQuery('Issue', { where: { done: true } }).length === 1)
}

function HastyCursor(): ReactNode {
  useHaste()
  return String(useLiveQuery('Issue', { orderBy: 'done' }).cursor?.values[0])
}

function HastyRecord(): ReactNode {
  useHaste()
  return String(useRecord('Issue', 'i1')?.done)
}

function Awaited(): ReactNode {
  return useSuspenseQuery('Issue', { orderBy: 'title' })
    .rows.map(({ title }) => title)
    .join()
}

function AwaitedEvents(): ReactNode {
  return useSuspenseQuery('Event').length
}

class Caught extends Component<{ readonly children: ReactNode }, { readonly name?: string }> {
  override state: { readonly name?: string } = {}

  static getDerivedStateFromError({ name }: Error) {
    return { name }
  }

  override render(): ReactNode {
    return this.state.name ?? this.props.children
  }
}

function Chosen({ id }: { readonly id: string | null | undefined }): ReactNode {
  const [times] = useState({ rendered: 0 })
  times.rendered += 1
  return `${useRecord('Issue', id)?.title}`
}

export const queryCases: readonly PageCase[] = [
  pageCase('a component follows a live query', async (scene) => {
    await scene.render(<Titles />)
    scene.shows('pending: ')
    await scene.write(['i1', 'Cable'], ['i2', 'Door'])
    scene.shows('ready: Cable,Door')
    await scene.write(['i1', 'Roof'])
    scene.shows('ready: Door,Roof')
  }),

  pageCase('an inline spec subscribes once, and a changed spec subscribes again', async (scene) => {
    const { client } = scene
    await scene.render(<Titles />)
    await scene.write(['i1', 'Cable'], ['i2', 'Door'])
    const before = [client.queries, client.subscriptions]
    const rows = rendered.at(-1)
    await scene.render(<Titles />)
    await scene.render(<Titles prefix="" />)
    same([client.queries, client.subscriptions], before, 'what was made and subscribed to')
    same(rendered.at(-1) === rows, true, 'whether the rows are the same array')

    const { listeners, subscriptions } = client
    await scene.render(<Titles prefix="D" />)
    scene.shows('ready: Door')
    same([client.listeners, client.subscriptions], [listeners, subscriptions + 1], 'who listens')
  }),

  pageCase('the rows are the same array until one changes', async (scene) => {
    await scene.render(<Titles />)
    await scene.write(['i1', 'Cable'])
    const rows = rendered.at(-1)
    await scene.server.write([{ op: 'i', t: 'Project', id: 'p1', p: { userId: 'ada' } }])
    await scene.settle()
    same(rendered.at(-1) === rows, true, 'whether they are the same')
    await scene.write(['i2', 'Door'])
    same(rendered.at(-1) === rows, false, 'whether they still are')
  }),

  pageCase('a result is a new object only if its rows change', async (scene) => {
    await scene.render(<Length />)
    await scene.write(['i1', 'Cable'], ['i2', 'Door'])
    const older = results.at(-1)
    await scene.server.write([{ op: 'd', t: 'Issue', id: 'i2' }])
    await scene.settle()
    scene.shows('1')
    const newer = results.at(-1)
    same(older !== newer, true, 'whether there is another')
    for (const result of [older, newer]) {
      const said = [result?.status, result?.length, result?.rows.length, result?.slice(0, 9).length]
      same([...said, result?.cursor?.id], ['ready', 1, 1, 1, 'i1'], 'what a result says')
    }
  }),

  pageCase('a copy of a result has the same content', async (scene) => {
    await scene.render(<Copied />)
    scene.shows('pending,0,0,,,0,0')
    await scene.write(['i1', 'Cable'], ['i2', 'Door'])
    scene.shows('ready,2,2,i1,i2,0,0')
  }),

  pageCase('a long list reads a part; another filter is another query', async (scene) => {
    const all = () => true
    await scene.render(<Filtered filter={all} />)
    await scene.write(['i1', 'Cable'], ['i2', 'Door'])
    scene.shows('i1 of 2')
    const { queries } = scene.client
    await scene.render(<Filtered filter={all} />)
    same(scene.client.queries, queries, 'the queries')
    await scene.render(<Filtered filter={({ id }) => id === 'i2'} />)
    scene.shows('i2 of 1')
  }),

  pageCase('another locale and another part of a text are other queries', async (scene) => {
    await scene.render(<Searched locale="de" part="" />)
    await scene.write(['i1', 'Zebra'], ['i2', 'Äpfel'])
    scene.shows('Äpfel,Zebra')
    const { queries } = scene.client
    await scene.render(<Searched locale="de" part="" />)
    same(scene.client.queries, queries, 'the queries')
    await scene.render(<Searched locale="sv" part="" />)
    scene.shows('Zebra,Äpfel')
    await scene.render(<Searched locale="sv" part="EB" />)
    scene.shows('Zebra')
  }),

  pageCase('another number is another query, also if JSON has neither', async (scene) => {
    await scene.render(<Below most={Number.POSITIVE_INFINITY} />)
    await scene.server.write([
      { op: 'i', t: 'Issue', id: 'i1', p: { userId: 'ada', title: 'Lamp', size: 1 } },
    ])
    await scene.settle()
    scene.shows('1')
    await scene.render(<Below most={Number.NEGATIVE_INFINITY} />)
    scene.shows('0')
  }),

  pageCase('a number and a string are different queries, whatever the string', async (scene) => {
    await scene.render(<Titled title={1} />)
    await scene.write(['i1', 'number 1'])
    scene.shows('0')
    await scene.render(<Titled title="number 1" />)
    scene.shows('1')
  }),

  pageCase('a wrong spec is refused, even if its JSON equals that of the previous spec', async (scene) => {
    const { error } = console
    // React tells of each error that it gives to a boundary.
    console.error = () => {}
    const page = (title: unknown) => (
      <Caught>
        <Titled title={title} />
      </Caught>
    )
    await scene.render(page('1970-01-01T00:00:00.000Z'))
    scene.shows('0')
    await scene.render(page(new Date(0)))
    console.error = error
    scene.shows('ConfigurationError')
  }),

  pageCase('a query that differs in each render is evaluated once for each', async (scene) => {
    const page = [<Later key="later" />, ' ', <FilteredInPlace key="filtered" />]
    await scene.render(page)
    await scene.write(['i1', 'Cable'], ['i2', 'Door'])
    scene.shows('2 ready: Cable')
    const before = renders
    await scene.render(page)
    scene.shows('2 ready: Cable')
    same(renders - before <= 2, true, 'whether it rendered once, as strict mode does')
  }),

  ...[HastyRows, HastyPart, HastyLength, HastyCursor, HastyRecord].map((Hasty) =>
    pageCase(`a change between rendering and subscribing is not missed: ${Hasty.name}`, async (scene) => {
      await scene.render(null)
      await scene.write(['i1', 'Cable'])
      await scene.render(<Hasty />)
      scene.shows('true')
    }),
  ),

  pageCase('a component that suspends shows the data as soon as there is some', async (scene) => {
    const page = (
      <Suspense fallback="Loading">
        <Awaited />
      </Suspense>
    )
    scene.server.down()
    await scene.render(page)
    await scene.settle()
    scene.shows('Loading')
    scene.server.up()
    await scene.write(['i1', 'Cable'])
    scene.shows('Cable')
    await scene.write(['i2', 'Door'])
    scene.shows('Cable,Door')
  }),

  pageCase('a provider below the Suspense gets its data, and stops the client in the end', async (scene) => {
    const { client, server } = scene
    const page = (
      <Suspense fallback="Loading">
        <SyncProvider client={client}>
          <Awaited />
        </SyncProvider>
      </Suspense>
    )
    scene.server.down()
    await scene.renderBare(page)
    scene.shows('Loading')
    server.up()
    await scene.write(['i1', 'Cable'])
    scene.shows('Cable')
    const sockets = server.requests.filter(({ endpoint }) => endpoint === 'ws')
    same([client.status.connection.state, sockets.length], ['socket', 1], 'the connection')
    await scene.leave()
    same(client.status.lifecycle, 'stopped', 'the client')
  }),

  pageCase('a suspended query waits for its lazy type, together with others of that type', async (scene) => {
    const { baseUrl, environment } = scene.server
    const token = scene.server.token('ada')
    const options = {
      baseUrl,
      environment,
      token,
      identity: 'ada',
      models: lazyModels,
      store: memoryStore(),
    }
    await scene.write(['i1', 'Cable'])
    const before = new WatchedClient(options)
    await scene.server.clock.until(before.sync())
    await scene.server.clock.until(before.close())
    scene.server.down()
    const client = new WatchedClient(options)
    const page = (
      <Suspense fallback="Loading">
        <Awaited />
        <Awaited />
        <Suspense fallback="…">
          <AwaitedEvents />
        </Suspense>
      </Suspense>
    )
    await scene.render(page, client)
    await scene.settle()
    scene.shows('CableCable0')
    same(client.loads, ['Issue', 'Event'], 'what was waited for')
    await scene.leave()
    await scene.server.clock.until(client.close())
  }),

  pageCase('a provider of a closed client shows its last data, without an error', async (scene) => {
    await scene.render(<Titles />)
    await scene.write(['i1', 'Cable'])
    await act(async () => void scene.client.close())
    scene.shows('ready: Cable')
    await scene.leave()
    await scene.render(<Titles />)
    scene.shows('ready: Cable')
  }),

  pageCase(
    'a component that suspends does not start a client that the application stopped',
    async (scene) => {
      // React renders again only what is another element.
      const page = () => (
        <Suspense fallback="Loading">
          <Awaited />
        </Suspense>
      )
      scene.server.down()
      await scene.render(page())
      await act(() => scene.client.stop())
      await scene.render(page())
      await scene.settle()
      scene.shows('Loading')
      same(scene.client.status.lifecycle, 'stopped', 'the client')
    },
  ),

  pageCase('a component that suspends on a closed client gets an error', async (scene) => {
    scene.server.down()
    await scene.render(
      <Caught>
        <Suspense fallback="Loading">
          <Awaited />
        </Suspense>
      </Caught>,
    )
    scene.shows('Loading')
    const { error } = console
    // React tells of each error that it gives to a boundary.
    console.error = () => {}
    void scene.client.close()
    await scene.settle()
    console.error = error
    scene.shows('ClosedError')
  }),

  pageCase('a component follows its record, also when the id changes', async (scene) => {
    await scene.render(<Chosen id="i1" />)
    scene.shows('undefined')
    await scene.write(['i1', 'Cable'], ['i2', 'Door'])
    scene.shows('Cable')
    await scene.render(<Chosen id="i2" />)
    scene.shows('Door')
    await scene.write(['i2', 'Gate'])
    scene.shows('Gate')
    await scene.server.write([{ op: 'd', t: 'Issue', id: 'i2' }])
    await scene.settle()
    scene.shows('undefined')
  }),

  pageCase('without an id there is no record, and its type is not loaded', async (scene) => {
    await scene.render(<Chosen id="i1" />)
    await scene.write(['i1', 'Cable'])
    scene.shows('Cable')
    const { reads } = scene.client
    for (const id of [null, undefined]) {
      await scene.render(<Chosen id={id} />)
      scene.shows('undefined')
      await scene.write(['i1', 'Door'])
      scene.shows('undefined')
    }
    same(scene.client.reads, reads, 'how often it was read')
  }),

  pageCase('a write is shown in the same moment', async (scene) => {
    await scene.render(<Titles />)
    await scene.write(['i1', 'Cable'])
    await act(async () => {
      flushSync(() => void scene.client.mutate((m) => m.update('Issue', 'i1', { title: 'Mine' })))
      scene.shows('ready: Mine')
    })
    await scene.settle()
    scene.shows('ready: Mine')
  }),
]
