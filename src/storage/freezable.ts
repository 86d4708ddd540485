import { Deferred } from '../base/deferred.ts'
import type { Lifecycle } from '../base/environment.ts'
import type { StorageError } from '../base/errors.ts'
import { ConnectionLost } from './connection-lost.ts'
import { closedConnection } from './indexeddb-failures.ts'
import type { Store, StoreConnection } from './store.ts'

export interface FreezableOptions {
  readonly store: Store
  readonly name: string
  /** `undefined`: the process is never frozen. */
  readonly lifecycle: Lifecycle | undefined
  /** Called when the page has resumed. Resolves with an error if this is not the same database any more. */
  readonly check: (connection: StoreConnection, signal: AbortSignal) => Promise<StorageError | undefined>
}

/**
 * Opens the database `name` for a page that the browser may freeze. In a frozen page, an open transaction would block
 * the other tabs, and an open connection would block the deletion of the database. So both end when the page freezes.
 * Transactions that were running then, and those that begin meanwhile, run when the page has resumed.
 */
export async function openFreezable(options: FreezableOptions): Promise<StoreConnection> {
  const { store, name, lifecycle, check } = options
  const loss = new ConnectionLost()
  let frozen = new AbortController()
  let isBack = new Deferred<void>()
  let isClosed = false
  let connection: StoreConnection | undefined
  let opening: Promise<StoreConnection> | undefined

  const open = async (isFirst: boolean) => {
    if (isClosed) throw closedConnection(false)
    const { signal } = frozen
    const opened = await store.open(name)
    try {
      if (!isFirst) {
        const failure = await check(opened, signal)
        if (failure) loss.tell(failure)
        if (failure) throw failure
      }
      if (isClosed || signal.aborted) throw closedConnection(!isClosed)
    } catch (error) {
      opened.close()
      throw error
    }
    opened.onLost((failure) => loss.tell(failure))
    connection = opened
    return opened
  }
  const openAgain = () => {
    opening ??= open(false).finally(() => {
      opening = undefined
    })
    return opening
  }
  /** Runs `body` again if the page was frozen meanwhile. */
  const whileAwake = async <T>(body: () => Promise<T>): Promise<T> => {
    for (;;) {
      const { signal } = frozen
      if (signal.aborted && !isClosed) await isBack.promise
      else
        try {
          return await body()
        } catch (error) {
          if (!signal.aborted || isClosed) throw error
        }
    }
  }
  const unsubscribe = lifecycle?.subscribe((event) => {
    if (event === 'frozen') {
      frozen.abort()
      connection?.close()
      connection = undefined
    } else if (event === 'resumed' && frozen.signal.aborted) {
      frozen = new AbortController()
      isBack.resolve()
      isBack = new Deferred()
      openAgain().catch(() => {})
    }
  })
  const close = () => {
    isClosed = true
    isBack.resolve()
    unsubscribe?.()
    connection?.close()
  }
  await whileAwake(() => open(true)).catch((error) => {
    close()
    throw error
  })
  return {
    transaction: (transaction, body) =>
      whileAwake(async () => {
        const { signal } = frozen
        const current = connection ?? (await openAgain())
        return current.transaction({ ...transaction, signal }, body)
      }),
    close,
    onLost: (listener) => loss.on(listener),
  }
}
