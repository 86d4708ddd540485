import {
  get,
  keys,
  put,
  type StoreContractCase,
  same,
  storageError,
  withConnection,
  write,
} from './context.ts'

/** Cases for opening and closing, and for the data that is kept. */
export const connectionCases: readonly StoreContractCase[] = [
  withConnection('what was stored is there after reopening', async (connection, { store, name }) => {
    await put(connection, { a: 1 })
    connection.close()
    const again = await store.open(name)
    same(await get(again, 'a'), 1, 'the stored state')
    again.close()
  }),

  withConnection('what was aborted is not there after reopening', async (connection, { store, name }) => {
    await put(connection, { a: 1 })
    await write(connection, async (tx) => {
      tx.put('meta', 'a', 2)
      throw new Error('on purpose')
    }).catch(() => {})
    connection.close()
    const again = await store.open(name)
    same(await get(again, 'a'), 1, 'the stored state')
    again.close()
  }),

  withConnection('two connections share one database', async (first, { store, name }) => {
    const second = await store.open(name)
    const increment = (connection: typeof first) =>
      write(connection, async (tx) =>
        tx.put('meta', 'count', Number((await tx.get('meta', 'count')) ?? 0) + 1),
      )
    await Promise.all([first, second, first, second].map(increment))
    same([await get(first, 'count'), await get(second, 'count')], [4, 4], 'what each sees')
    second.close()
  }),

  withConnection('databases of other names are apart', async (connection, { store, name }) => {
    const other = await store.open(`${name}-other`)
    await put(other, { a: 1 })
    same(await keys(connection), [], 'what the first holds')
    other.close()
    await store.destroy(`${name}-other`)
  }),

  withConnection('a connection that was closed refuses with the code `closed`', async (connection) => {
    connection.close()
    connection.close()
    await storageError(put(connection, { a: 1 }), 'a write', 'closed')
    await storageError(get(connection, 'a'), 'a read', 'closed')
  }),

  withConnection('closing lets what is under way end', async (connection, { store, name }) => {
    const writing = write(connection, async (tx) => {
      for (let turn = 0; turn < 10; turn += 1) await tx.get('meta', 'a')
      tx.put('meta', 'a', 1)
    })
    connection.close()
    await writing
    const again = await store.open(name)
    same(await get(again, 'a'), 1, 'the stored state')
    again.close()
  }),

  withConnection('destroying removes everything', async (connection, { store, name }) => {
    await put(connection, { a: 1 })
    connection.close()
    await store.destroy(name)
    await store.destroy(name)
    const again = await store.open(name)
    same(await keys(again), [], 'the stored state')
    again.close()
  }),

  withConnection(
    'destroying closes connections first, and tells each once',
    async (connection, { store, name }) => {
      let calls = 0
      let removedCalls = 0
      connection.onLost(() => {
        calls += 1
      })
      connection.onLost(() => {
        removedCalls += 1
      })()
      await put(connection, { a: 1 })
      await store.destroy(name)
      await storageError(put(connection, { a: 1 }), 'a write', 'closed')
      await store.destroy(name)
      same([calls, removedCalls], [1, 0], 'the number of calls of each listener')
    },
  ),

  withConnection('closing by oneself is no loss', async (connection, { store, name }) => {
    let isCalled = false
    connection.onLost(() => {
      isCalled = true
    })
    connection.close()
    await store.destroy(name)
    same(isCalled, false, 'whether the listener was called')
  }),
]
