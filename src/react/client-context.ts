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
 * Provides `client` to the components below. A mounted provider keeps the client running: the first provider starts a
 * client that does not run yet, and the last one stops the client again. No provider closes the client.
 */
export function SyncProvider<M extends ModelDefinitions>({
  client,
  children,
}: SyncProviderProps<M>): ReactElement {
  useEffect(() => keepRunning(client), [client])
  // A context cannot be generic: `createHooks` restores the type of the client.
  return createElement(ClientContext.Provider, { value: client as unknown as SyncClient }, children)
}

/** Returns the client of the nearest SyncProvider. Throws a ConfigurationError without a SyncProvider. */
export function useClient(): SyncClient {
  const client = useContext(ClientContext)
  if (client) return client
  throw new ConfigurationError('SyncProvider', 'There is no `SyncProvider` above this component: render one.')
}
