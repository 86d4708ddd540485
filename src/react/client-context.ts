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
import { keepRunning } from './running.ts'

export interface SyncProviderProps<M extends ModelDefinitions = ModelDefinitions> {
  readonly client: SyncClient<M>
  readonly children?: ReactNode
}

const ClientContext: Context<SyncClient | undefined> = createContext<SyncClient | undefined>(undefined)

/**
 * Gives the components below it a client. While it is mounted the client runs: one that does not run yet is started by
 * the first of its providers, and stopped by the last. The client is closed by whoever made it.
 */
export function SyncProvider<M extends ModelDefinitions>({
  client,
  children,
}: SyncProviderProps<M>): ReactElement {
  useEffect(() => keepRunning(client), [client])
  // A context is of no type of its own; the hooks say it again.
  return createElement(ClientContext.Provider, { value: client as unknown as SyncClient }, children)
}

/** The client of the nearest SyncProvider. Throws a ConfigurationError where there is none. */
export function useClient(): SyncClient {
  const client = useContext(ClientContext)
  if (client) return client
  throw new ConfigurationError('SyncProvider', 'There is no `SyncProvider` above this component; render one.')
}
