import { getEventListeners } from 'node:events'
import { forceCloseDatabase } from 'fake-indexeddb'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { indexedDbStore } from '../../src/storage/indexeddb.ts'
import type { StoreTransaction } from '../../src/storage/store.ts'
import { fakeIndexedDb } from '../support/store-fake-indexeddb.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** A store, its factory, and the engine's own handles as they are made. */
function setUp() {
  const indexedDB = fakeIndexedDb()
  const handles: IDBDatabase[] = []
  const transactions: IDBTransaction[] = []
  const open = indexedDB.open.bind(indexedDB)
  vi.spyOn(indexedDB, 'open').mockImplementation((...args) => {
    const request = open(...args)
    request.addEventListener('success', () => handles.push(request.result))
    return request
  })
  const begin = IDBDatabase.prototype.transaction
  vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function (this: IDBDatabase, ...args) {
    const transaction = begin.apply(this, args)
    transactions.push(transaction)
    return transaction
  })
  return { indexedDB, store: indexedDbStore({ indexedDB }), handles, transactions }
}

function openRaw(
  indexedDB: IDBFactory,
  version: number,
  upgrade = (_: IDBDatabase) => {},
): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open('db', version)
    request.onupgradeneeded = () => upgrade(request.result)
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

/** An event as fake-indexeddb takes it; its own `forceCloseDatabase` waits for the transactions. */
function closeEvent(): Event {
  const phases = { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 }
  return { type: 'close', initialized: true, eventPath: [], ...phases } as unknown as Event
}

const writing = { tables: ['meta'], mode: 'write' } as const

describe('opening', () => {
  test('invariant 34: without IndexedDB it is `no_storage`', async () => {
    vi.stubGlobal('indexedDB', undefined)
    await expect(indexedDbStore().open('db')).rejects.toMatchObject({ code: 'no_storage' })
    await expect(indexedDbStore().destroy('db')).rejects.toMatchObject({ code: 'no_storage' })
  })

  test('invariant 34: where IndexedDB is forbidden it is `no_storage`', async () => {
    const forbidden = () => {
      throw new DOMException('Denied.', 'SecurityError')
    }
    const indexedDB = { open: forbidden, deleteDatabase: forbidden } as unknown as IDBFactory
    await expect(indexedDbStore({ indexedDB }).open('db')).rejects.toMatchObject({ code: 'no_storage' })
    await expect(indexedDbStore({ indexedDB }).destroy('db')).rejects.toMatchObject({ code: 'no_storage' })
  })

  test('while site data is being cleared it is `closed`, and may be tried again', async () => {
    const closing = () => {
      throw new DOMException('The connection was closed.', 'AbortError')
    }
    const indexedDB = { open: closing, deleteDatabase: closing } as unknown as IDBFactory
    const closed = { name: 'StorageError', code: 'closed', retryable: true }
    await expect(indexedDbStore({ indexedDB }).open('db')).rejects.toMatchObject(closed)
    await expect(indexedDbStore({ indexedDB }).destroy('db')).rejects.toMatchObject(closed)
  })

  test('takes the global IndexedDB as it is at the time', async () => {
    const store = indexedDbStore()
    const indexedDB = fakeIndexedDb()
    vi.stubGlobal('indexedDB', indexedDB)
    const connection = await store.open('db')
    connection.close()
    expect((await indexedDB.databases()).map(({ name }) => name)).toEqual(['db'])
  })

  test('a database of a newer version is `unavailable`, and says to reload', async () => {
    const { indexedDB, store } = setUp()
    const newer = await openRaw(indexedDB, 2)
    newer.close()
    const opening = store.open('db')
    await expect(opening).rejects.toMatchObject({ code: 'unavailable' })
    await expect(opening).rejects.toThrow(/newer version.*reload/)
  })

  test('a database that something else made is `unavailable`, and left open to others', async () => {
    const { indexedDB, store } = setUp()
    const foreign = await openRaw(indexedDB, 1, (db) => db.createObjectStore('things'))
    foreign.close()
    const opening = store.open('db')
    await expect(opening).rejects.toMatchObject({ code: 'unavailable' })
    await expect(opening).rejects.toThrow(/no table meta.*another `identity`/)
    const upgraded = await openRaw(indexedDB, 2)
    upgraded.close()
  })
})

describe('destroying', () => {
  test('whoever does not make way holds it up for 10 s at most', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { indexedDB, store } = setUp()
    const holder = await openRaw(indexedDB, 1)
    const settled = vi.fn()
    store.destroy('db').catch(settled)
    await vi.advanceTimersByTimeAsync(9_999)
    expect(settled).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(settled).toHaveBeenCalledWith(expect.objectContaining({ code: 'blocked', retryable: true }))
    holder.close()
    await store.destroy('db')
    expect([await indexedDB.databases(), vi.getTimerCount()]).toEqual([[], 0])
  })
})

describe('losing the connection', () => {
  test('makes way for a newer version, and tells what helps', async () => {
    const { indexedDB, store } = setUp()
    const connection = await store.open('db')
    const lost = vi.fn()
    connection.onLost(lost)
    const newer = await openRaw(indexedDB, 2)
    expect(lost).toHaveBeenCalledTimes(1)
    const message = 'This connection to the local database is closed: reload to store again.'
    const refusal = { code: 'closed', message, retryable: false }
    expect(lost).toHaveBeenCalledWith(expect.objectContaining(refusal))
    await expect(connection.transaction(writing, async () => {})).rejects.toMatchObject(refusal)
    newer.close()
  })

  test('is told once, whatever the engine says after that', async () => {
    const { indexedDB, store, handles } = setUp()
    const connection = await store.open('db')
    const lost = vi.fn()
    connection.onLost(lost)
    const newer = await openRaw(indexedDB, 2)
    handles[0]?.dispatchEvent(closeEvent())
    handles[0]?.dispatchEvent(closeEvent())
    expect(lost).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ retryable: false }))
    newer.close()
  })

  test('tells when the engine closed it, and refuses with the code `closed`, as what another one may do', async () => {
    const { store, handles } = setUp()
    const connection = await store.open('db')
    const lost = vi.fn()
    connection.onLost(lost)
    const [handle] = handles
    if (handle) forceCloseDatabase(handle as never)
    await expect.poll(() => lost).toHaveBeenCalledTimes(1)
    await expect(connection.transaction(writing, async () => {})).rejects.toMatchObject({
      code: 'closed',
      retryable: true,
    })
  })
})

describe('a transaction', () => {
  test('invariant 30: one that gets no event when the engine closes the connection settles', async () => {
    const { store, handles, transactions } = setUp()
    const connection = await store.open('db')
    let stopped = false
    const done = connection.transaction(writing, async (tx) => {
      while (!stopped) await tx.get('meta', 'a')
    })
    const engine = transactions.at(-1)
    if (engine) vi.spyOn(engine, 'abort').mockImplementation(() => {})
    handles[0]?.dispatchEvent(closeEvent())
    await expect(done).rejects.toMatchObject({ name: 'StorageError', code: 'closed' })
    stopped = true
  })

  test('invariant 31: one that the engine ends before it tells that it has closed the connection is `closed`', async () => {
    const { store, transactions } = setUp()
    const connection = await store.open('db')
    const done = connection.transaction(writing, async () => {
      const engine = transactions.at(-1) as unknown as { _abort(name: string): void }
      engine._abort('UnknownError')
      vi.mocked(IDBDatabase.prototype.transaction).mockImplementation(() => {
        throw new DOMException('The connection is closing.', 'InvalidStateError')
      })
    })
    await expect(done).rejects.toMatchObject({ name: 'StorageError', code: 'closed', retryable: true })
  })

  describe('in a page that was put aside and is back', () => {
    /** Gives what shows the page again. */
    function aside() {
      const page = new EventTarget()
      vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
      vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))
      return () => page.dispatchEvent(new Event('pageshow'))
    }

    test('is `closed` where the engine has ended it and never said so', async () => {
      const show = aside()
      const { store, transactions } = setUp()
      const connection = await store.open('db')
      const done = connection.transaction(writing, async () => {
        const engine = transactions.at(-1)
        if (!engine) throw new Error('There is no transaction.')
        vi.spyOn(engine, 'objectStore').mockImplementation(() => {
          throw new DOMException('It is over.', 'InvalidStateError')
        })
        show()
        await new Promise(() => {})
      })
      await expect(done).rejects.toMatchObject({ name: 'StorageError', code: 'closed', retryable: true })
      connection.close()
    })

    test('is begun once more where the engine has ended it, and says so', async () => {
      const { store, transactions } = setUp()
      const connection = await store.open('db')
      await connection.transaction(writing, async (tx) => {
        tx.put('meta', String(transactions.length), 1)
        const engine = transactions.at(-1) as unknown as { _abort(name: string): void }
        if (transactions.length === 1) engine._abort('InvalidStateError')
      })
      expect(await connection.transaction(writing, (tx) => tx.keys('meta'))).toEqual(['2'])
      connection.close()
    })

    test('goes on where it is not over', async () => {
      const show = aside()
      const { store } = setUp()
      const connection = await store.open('db')
      await connection.transaction(writing, async (tx) => {
        tx.put('meta', 'a', 1)
        show()
      })
      expect(await connection.transaction(writing, (tx) => tx.keys('meta'))).toEqual(['a'])
      connection.close()
    })
  })

  test('invariant 33: one that may only delete, as after one without room, is begun once more', async () => {
    const { store } = setUp()
    const connection = await store.open('db')
    vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementationOnce(() => {
      throw new DOMException('A mutation is not allowed.', 'InvalidStateError')
    })
    await connection.transaction(writing, async (tx) => tx.put('meta', 'a', 1))
    expect(await connection.transaction(writing, (tx) => tx.keys('meta'))).toEqual(['a'])
    connection.close()
  })

  test.each([
    ['QuotaExceededError', 'quota'],
    ['DataError', 'quota'],
    ['UnknownError', 'aborted'],
  ])(
    'is stored only when it is complete: %s after every request succeeded is told as `%s`',
    async (name, code) => {
      const { store, transactions } = setUp()
      const connection = await store.open('db')
      const done = connection.transaction(writing, async (tx) => {
        tx.put('meta', 'a', 1)
        await tx.get('meta', 'a')
        const engine = transactions.at(-1) as unknown as { _abort(name: string): void }
        engine._abort(name)
      })
      await expect(done).rejects.toMatchObject({ name: 'StorageError', code, cause: { name } })
      expect(await connection.transaction(writing, (tx) => tx.keys('meta'))).toEqual([])
      connection.close()
    },
  )

  test('whose read fails because there is no room says so', async () => {
    const { store, transactions } = setUp()
    const connection = await store.open('db')
    const done = connection.transaction(writing, async (tx) => {
      const reading = tx.get('meta', 'a')
      const engine = transactions.at(-1) as unknown as { _abort(name: string): void }
      engine._abort('QuotaExceededError')
      await reading
    })
    await expect(done).rejects.toMatchObject({ name: 'StorageError', code: 'quota' })
    connection.close()
  })

  test('is committed at once where it is one write and nothing else, since the page may be about to close', async () => {
    const { store } = setUp()
    const connection = await store.open('db')
    const commit = vi.spyOn(IDBTransaction.prototype, 'commit')
    const commits: number[] = []
    const bodies: readonly ((tx: StoreTransaction) => void | Promise<void>)[] = [
      (tx) => tx.put('meta', 'a', 1),
      (tx) => {
        tx.put('meta', 'b', 1)
        tx.put('meta', 'c', 1)
      },
      async (tx) => tx.put('meta', 'd', 1),
    ]
    for (const body of bodies) {
      const done = connection.transaction(writing, body)
      commits.push(commit.mock.calls.length)
      await done
    }
    expect(commits).toEqual([1, 1, 1])
    expect(await connection.transaction(writing, (tx) => tx.keys('meta'))).toEqual(['a', 'b', 'c', 'd'])
    connection.close()
  })

  test('leaves no listener behind, however it ends', async () => {
    const page = new EventTarget()
    vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
    vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))
    const { store } = setUp()
    const connection = await store.open('db')
    const { signal } = new AbortController()
    const fail = () => Promise.reject(new Error('on purpose'))
    for (const body of [async () => {}, fail]) {
      await connection.transaction({ ...writing, signal }, body).catch(() => {})
      const left = [getEventListeners(page, 'pageshow'), getEventListeners(signal, 'abort')]
      expect(left).toEqual([[], []])
    }
    connection.close()
  })

  test('passes its durability on, and is relaxed unless told', async () => {
    const { store } = setUp()
    const connection = await store.open('db')
    const spy = vi.mocked(IDBDatabase.prototype.transaction).mockClear()
    await connection.transaction(writing, async () => {})
    await connection.transaction({ ...writing, durability: 'strict' }, async () => {})
    expect(spy.mock.calls.map(([, mode, options]) => [mode, options])).toEqual([
      ['readwrite', { durability: 'relaxed' }],
      ['readwrite', { durability: 'strict' }],
    ])
    connection.close()
  })

  test('that completed under its body rejects for what was put too late', async () => {
    const { store } = setUp()
    const connection = await store.open('db')
    const done = connection.transaction(writing, async (tx) => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      tx.put('meta', 'a', 1)
    })
    await expect(done).rejects.toMatchObject({ name: 'StorageError', code: 'aborted' })
    connection.close()
  })

  test('invariant 36: one whose every request fails leaves no rejection unheard', async () => {
    const { store } = setUp()
    const connection = await store.open('db')
    const unheard = vi.fn()
    process.on('unhandledRejection', unheard)
    const done = connection.transaction(writing, async (tx) => {
      for (const key of ['a', 'b', 'c']) {
        tx.put('meta', key, 1)
        tx.delete('meta', key)
      }
      throw new Error('on purpose')
    })
    await expect(done).rejects.toThrow('on purpose')
    await new Promise((resolve) => setTimeout(resolve, 10))
    process.off('unhandledRejection', unheard)
    expect(unheard).not.toHaveBeenCalled()
    connection.close()
  })
})
