import {
  type Context,
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
} from 'react'
import { ConfigurationError } from '../base/errors.ts'
import type { SyncClient } from '../client/sync-client.ts'
import type { ModelDefinitions } from '../models/models.ts'

export interface SyncProviderProps<M extends ModelDefinitions = ModelDefinitions> {
  readonly client: SyncClient<M>
  readonly children?: ReactNode
}

const ClientContext: Context<SyncClient | undefined> = createContext<SyncClient | undefined>(undefined)

/**
 * Gives the components below it a client. While it is mounted the client runs: one that does not run yet is started,
 * and stopped in the end. The client is closed by whoever made it.
 */
export function SyncProvider<M extends ModelDefinitions>({
  client,
  children,
}: SyncProviderProps<M>): ReactElement {
  useEffect(() => {
    if (client.status.lifecycle === 'running') return undefined
    // What can fail in these, the client's status and events tell.
    client.start().catch(() => {})
    return () => void client.stop().catch(() => {})
  }, [client])
  // A context is of no type of its own; the hooks say it again.
  return createElement(ClientContext.Provider, { value: client as unknown as SyncClient }, children)
}

/** The client of the nearest SyncProvider. Throws a ConfigurationError where there is none. */
export function useClient(): SyncClient {
  const client = useContext(ClientContext)
  if (client) return client
  throw new ConfigurationError('SyncProvider', 'There is no `SyncProvider` above this component; render one.')
}
