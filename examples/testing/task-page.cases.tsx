import { mockSyncServer } from 'instep/testing'
import { act } from 'react'
import { createRoot } from 'react-dom/client'
import { TaskPage } from './task-page.tsx'

/** Tests of the page, for any test runner in any browser. A case that fails rejects. */
export const taskPageCases = [
  {
    name: 'the page shows tasks as they come, and says when it is offline',
    async run() {
      const server = mockSyncServer()
      const client = server.client({ identity: 'ada' })
      const element = document.createElement('main')
      const root = createRoot(element)
      await act(() => root.render(<TaskPage client={client} />))
      expectText(element, 'Loading…')

      await server.write([{ op: 'i', t: 'Task', id: 't1', p: { title: 'Buy milk', done: false } }], 'ada')
      await act(async () => {
        await client.start()
        await server.settle()
      })
      expectText(element, 'Buy milk')

      await act(async () => {
        server.down()
        await server.settle()
      })
      expectText(element, 'Offline: this is what was known last.Buy milk')

      await act(() => root.unmount())
      await server.close()
    },
  },
  {
    name: 'in real time, the page shows a task soon after it was written',
    async run() {
      const server = mockSyncServer({ clock: 'real' })
      const client = server.client({ identity: 'ada' })
      const element = document.createElement('main')
      const root = createRoot(element)
      await act(async () => {
        root.render(<TaskPage client={client} />)
        await client.start()
        await server.settle()
      })
      expectText(element, '')

      await act(async () => {
        await server.write([{ op: 'i', t: 'Task', id: 't1', p: { title: 'Buy milk', done: false } }], 'ada')
        await server.settle()
      })
      expectText(element, 'Buy milk')

      await act(() => root.unmount())
      await server.close()
    },
  },
]

function expectText({ textContent }: Element, expected: string): void {
  if (textContent !== expected) throw new Error(`The page shows ${textContent}, not ${expected}.`)
}
