import { act, type ReactNode, StrictMode } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import { SyncProvider } from '../../src/react/index.ts'
import { same } from '../../src/storage/contract/context.ts'
import { type MockSyncServer, mockSyncServer, type VirtualClock } from '../../src/testing/index.ts'
import type { PageCase } from '../browser/in-page.ts'
import { WatchedClient } from './watched-client.ts'

/** A page before a server, in virtual time. */
export class Scene {
  readonly server: MockSyncServer<VirtualClock> = mockSyncServer()
  readonly element = document.createElement('main')
  readonly client = this.newClient()
  root: Root | undefined

  newClient(): WatchedClient {
    const { baseUrl, environment } = this.server
    return new WatchedClient({ baseUrl, environment: environment, token: this.server.token('ada') })
  }

  /** Renders `page` below a provider in strict mode, without waiting for anything. */
  render(page: ReactNode, client = this.client): Promise<void> {
    return this.renderBare(<SyncProvider client={client}>{page}</SyncProvider>)
  }

  /** The same for a page that has its own provider. */
  async renderBare(page: ReactNode): Promise<void> {
    this.root ??= createRoot(this.element)
    const { root } = this
    await act(async () => root.render(<StrictMode>{page}</StrictMode>))
  }

  async settle(): Promise<void> {
    await act(() => this.server.settle())
  }

  /** Writes as the server, and waits until that is shown. */
  async write(...issues: readonly (readonly [id: string, title: string])[]): Promise<void> {
    await this.server.write(
      issues.map(([id, title]) => ({ op: 'i', put: true, t: 'Issue', id, p: { userId: 'ada', title } })),
    )
    await this.settle()
  }

  shows(expected: string): void {
    same(this.element.textContent, expected, 'the page')
  }

  /** Takes the page away. */
  async leave(): Promise<void> {
    await act(async () => this.root?.unmount())
    this.root = undefined
  }

  async end(): Promise<void> {
    await this.leave()
    await this.server.clock.until(this.client.close())
    await this.server.close()
  }
}

/** A case of its own scene, which leaves nobody listening, and of which React has nothing to say. */
export function pageCase(name: string, run: (scene: Scene) => Promise<void>): PageCase {
  return {
    name,
    async run() {
      const scene = new Scene()
      const { error } = console
      const said: string[] = []
      console.error = (...args) => said.push(args.join(' '))
      try {
        await run(scene)
        await scene.leave()
        same(scene.client.listeners, 0, 'the listeners that are left')
        same(said, [], 'what React said')
      } finally {
        console.error = error
        await scene.end()
      }
    },
  }
}
