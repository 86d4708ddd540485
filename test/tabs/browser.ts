import { memoryStore, type Store, type SyncClient, type SyncClientOptions } from 'instep'
import { type BareOptions, mockSyncServer } from 'instep/testing'
import { VirtualChannels, type VirtualChannelsOptions } from '../../src/testing/virtual-channels.ts'
import { VirtualLifecycle } from '../../src/testing/virtual-environment.ts'
import { VirtualLocks } from '../../src/testing/virtual-locks.ts'
import { holdable } from '../support/holdable-store.ts'
import { perOrigin } from '../support/per-origin.ts'

export interface Tab {
  readonly client: SyncClient
  readonly lifecycle: VirtualLifecycle
  /** Its process ends: its lock is free, and it says nothing more. */
  readonly kill: () => void
  /** It stands still: it keeps its locks, gets no others, and says nothing more. */
  readonly freeze: () => void
  /** It goes into the back/forward cache: nothing of it runs on, and its open transactions stay open. */
  readonly leave: () => void
  /** It comes back from there, and is looked at. */
  readonly comeBack: () => Promise<void>
}

export interface BrowserOptions extends VirtualChannelsOptions {
  /** Whether the page is a secure one. */
  readonly hasLocks?: boolean
  readonly hasChannel?: boolean | undefined
  /** See `VirtualChannels`. */
  readonly carry?: (deliver: () => void, message: unknown) => void
  readonly store?: Store
  /** How its server speaks, if it knows no extension. */
  readonly bare?: BareOptions
}

export type OpenOptions = Partial<
  Pick<SyncClientOptions, 'models' | 'merge' | 'onUnauthenticated' | 'store'>
> & {
  readonly visible?: boolean
  readonly environment?: SyncClientOptions['environment']
  readonly token?: () => string
  /** @default 'ada' */
  readonly identity?: string
}

/** The tabs of one browser. Somebody else writes as the service. */
export async function browser({
  hasLocks = true,
  hasChannel = true,
  store,
  bare,
  ...carried
}: BrowserOptions = {}) {
  const server = mockSyncServer(bare ? { bare } : {})
  await server.write([{ op: 'i', t: 'Item', id: 'i0', p: {} }], 'ada')
  const device = server.device()
  const shared: Store = store ?? { ...memoryStore(), kind: 'durable', shared: perOrigin }
  const locks = new VirtualLocks()
  const channels = new VirtualChannels(carried)
  const page = ({ visible = true, environment, ...options }: OpenOptions = {}) => {
    const lifecycle = new VirtualLifecycle()
    const held = holdable(options.store ?? shared)
    lifecycle.set({ visible })
    const [ownLocks, channel] = [locks.page(), channels.page()]
    const client = device.client({
      identity: 'ada',
      pollInterval: 600_000,
      ...options,
      store: held.store,
      environment: {
        lifecycle,
        locks: hasLocks ? ownLocks : undefined,
        BroadcastChannel: hasChannel ? channel : undefined,
        ...environment,
      },
    })
    return { client, lifecycle, locks: ownLocks, channel, held }
  }
  const open = async (options?: OpenOptions): Promise<Tab> => {
    const { client, lifecycle, locks, channel, held } = page(options)
    await client.start()
    await server.settle()
    const freeze = () => {
      channel.crash()
      locks.freeze()
    }
    return {
      client,
      lifecycle,
      freeze,
      leave: () => {
        lifecycle.set({ visible: false })
        lifecycle.freeze()
        held.hold()
      },
      comeBack: async () => {
        held.release()
        lifecycle.resume()
        lifecycle.set({ visible: true })
        await server.settle()
      },
      kill: () => {
        freeze()
        locks.crash()
      },
    }
  }
  return {
    server,
    device,
    /** The client of a tab that does not start it. */
    idle: (options?: OpenOptions) => page(options).client,
    open,
    insert: async (id: string) => {
      await server.write([{ op: 'i', t: 'Item', id, p: {} }], 'ada')
      await server.settle()
    },
    front: async ({ lifecycle }: Tab) => {
      lifecycle.set({ visible: false })
      lifecycle.set({ visible: true })
      await server.settle()
    },
    close: ({ client }: Tab) => server.clock.until(client.close()),
    /** How often the endpoint was asked. */
    asked: (endpoint: string) => server.requests.filter((request) => request.endpoint === endpoint).length,
    /** The records that a tab shows which is opened offline. */
    async stored() {
      device.disconnect()
      const { client } = await open()
      const ids = client.query('Item', {}).rows.map(({ id }) => id)
      await server.close()
      return ids.sort()
    },
  }
}

export const idsIn = ({ client }: Tab) => client.query('Item', { orderBy: 'id' }).rows.map(({ id }) => id)

export const rolesOf = (...tabs: readonly Tab[]) => tabs.map(({ client }) => client.status.role)
