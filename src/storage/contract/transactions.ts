import type { StoreTransaction } from '../store.ts'
import {
  get,
  keys,
  put,
  read,
  rejection,
  type StoreContractCase,
  same,
  storageError,
  withConnection,
  write,
} from './context.ts'

/** Cases for transactions: they are atomic, run one after another and see one state throughout. */
export const transactionCases: readonly StoreContractCase[] = [
  withConnection('a transaction gives what its body returns', async (connection) => {
    same(await write(connection, async () => 'done'), 'done', 'the result of a write')
    same(await read(connection, async () => 'done'), 'done', 'the result of a read')
  }),

  withConnection('a throw at any point of a write transaction takes all of it back', async (connection) => {
    const steps: readonly ((tx: StoreTransaction) => unknown)[] = [
      (tx) => tx.put('meta', 'a', 'new'),
      (tx) => tx.put('meta', 'b', 'new'),
      (tx) => tx.get('meta', 'a'),
      (tx) => tx.delete('meta', 'old'),
      (tx) => tx.delete('journal', {}),
      (tx) => tx.values('meta'),
      (tx) => tx.put('journal', '2', 'new'),
    ]
    const tables = ['meta', 'journal'] as const
    await write(
      connection,
      async (tx) => {
        tx.put('meta', 'a', 'old a')
        tx.put('meta', 'old', 'old')
        tx.put('journal', '1', 'old')
      },
      { tables },
    )
    for (let until = 0; until <= steps.length; until += 1) {
      const error = new Error('on purpose')
      const failing = write(
        connection,
        async (tx) => {
          for (const step of steps.slice(0, until)) await step(tx)
          throw error
        },
        { tables },
      )
      const what = `a throw after ${until} steps`
      same((await rejection(failing, what)) === error, true, `${what} rejects with the same error`)
      const left = await read(connection, (tx) => Promise.all([tx.keys('meta'), tx.values('meta')]))
      const before = [
        ['a', 'old'],
        ['old a', 'old'],
      ]
      same(left, before, what)
      same(await keys(connection, 'journal'), ['1'], what)
    }
  }),

  withConnection('a body that throws before it awaits anything rejects', async (connection) => {
    const failing = write(connection, (tx) => {
      tx.put('meta', 'a', 1)
      throw new Error('on purpose')
    })
    await rejection(failing, 'the transaction')
    same(await keys(connection), [], 'the stored state')
  }),

  withConnection('a put that fails does not throw, but its transaction rejects', async (connection) => {
    let hasThrown = true
    const failing = write(connection, async (tx) => {
      tx.put('meta', 'a', 1)
      tx.put('meta', 'b', (() => {}) as never)
      hasThrown = false
    })
    await rejection(failing, 'the transaction')
    same([hasThrown, await keys(connection)], [false, []], 'whether the call threw, and the stored state')
  }),

  withConnection(
    'a body that returns nothing, not even a promise, has what it wrote stored',
    async (connection) => {
      const options = { tables: ['meta'], mode: 'write' } as const
      const returned = await connection.transaction(options, (tx) => tx.put('meta', 'a', 1))
      same([returned, await get(connection, 'a')], [undefined, 1], 'the result, and the stored state')
      const failing = connection.transaction(options, (tx) => {
        tx.put('meta', 'a', 2)
        throw new Error('on purpose')
      })
      await rejection(failing, 'a body that throws')
      same(await get(connection, 'a'), 1, 'the stored state after a body that throws')
    },
  ),

  withConnection('an add stores a value where there is none', async (connection) => {
    await write(connection, async (tx) => {
      tx.put('meta', 'a', 1)
      tx.delete('meta', 'a')
      tx.add('meta', 'a', 2)
      tx.add('meta', 'b', null)
    })
    same([await get(connection, 'a'), await get(connection, 'b')], [2, null], 'the stored state')
  }),

  withConnection(
    'an add where there is one is `fenced`, and takes back its transaction',
    async (connection) => {
      await put(connection, { a: 1 })
      const adding = (tx: StoreTransaction) => {
        tx.put('meta', 'b', 2)
        tx.add('meta', 'a', 2)
        tx.put('meta', 'c', 2)
      }
      await storageError(
        write(connection, async (tx) => adding(tx)),
        'one that is awaited',
        'fenced',
      )
      const atOnce = connection.transaction({ tables: ['meta'], mode: 'write' }, adding)
      await storageError(atOnce, 'one that is committed at once', 'fenced')
      same([await keys(connection), await get(connection, 'a')], [['a'], 1], 'the stored state')
    },
  ),

  withConnection('a transaction sees what it wrote itself', async (connection) => {
    await put(connection, { a: 1, b: 2 })
    const seen = await write(connection, async (tx) => {
      tx.put('meta', 'a', 10)
      tx.put('meta', 'c', 3)
      tx.delete('meta', 'b')
      return [await tx.get('meta', 'a'), await tx.get('meta', 'b'), await tx.keys('meta')]
    })
    same(JSON.stringify(seen), JSON.stringify([10, undefined, ['a', 'c']]), 'what it saw')
  }),

  withConnection(
    'a read that is not awaited yet sees what was written before it, and no more',
    async (connection) => {
      await put(connection, { a: 1 })
      const seen = await write(connection, async (tx) => {
        const readAll = () =>
          Promise.all([
            tx.get('meta', 'a'),
            tx.keys('meta'),
            tx.keys('meta', { reverse: true, limit: 1 }),
            tx.values('meta', { reverse: true, limit: 2 }),
          ])
        const before = readAll()
        tx.put('meta', 'a', 2)
        tx.put('meta', 'b', 3)
        const between = readAll()
        tx.delete('meta', {})
        return [await before, await between]
      })
      same(
        seen,
        [
          [1, ['a'], ['a'], [1]],
          [2, ['a', 'b'], ['b'], [3, 2]],
        ],
        'what they saw',
      )
    },
  ),

  withConnection('write transactions begun at once run one after another', async (connection) => {
    const increment = () =>
      write(connection, async (tx) => {
        const count = Number((await tx.get('meta', 'count')) ?? 0)
        tx.put('meta', 'count', count + 1)
        return count
      })
    const counts = await Promise.all(Array.from({ length: 20 }, increment))
    same(
      counts,
      Array.from({ length: 20 }, (_, index) => index),
      'what each saw',
    )
    same(await get(connection, 'count'), 20, 'the count')
  }),

  withConnection('a read transaction sees one state throughout', async (connection) => {
    await put(connection, { a: 'old', b: 'old' })
    let writing: Promise<void> | undefined
    const seen = await read(connection, async (tx) => {
      const a = await tx.get('meta', 'a')
      writing = put(connection, { a: 'new', b: 'new' })
      for (let turn = 0; turn < 20; turn += 1) await tx.get('meta', 'a')
      return [a, await tx.get('meta', 'b')]
    })
    await writing
    same(seen, ['old', 'old'], 'what it saw')
    same(await get(connection, 'b'), 'new', 'the stored state afterwards')
  }),

  withConnection('what is begun after a write sees what it wrote', async (connection) => {
    const writing = put(connection, { a: 1 })
    same(await get(connection, 'a'), 1, 'a read that did not wait for it')
    await writing
  }),

  withConnection('reads are answered in the order in which they were asked', async (connection) => {
    await put(connection, { a: 'x'.repeat(200_000), b: 1, c: 2 })
    const order: string[] = []
    await read(connection, (tx) =>
      Promise.all(['c', 'a', 'missing', 'b'].map((key) => tx.get('meta', key).then(() => order.push(key)))),
    )
    same(order, ['c', 'a', 'missing', 'b'], 'the order')
  }),

  withConnection('a signal aborts a running transaction', async (connection) => {
    const controller = new AbortController()
    const writing = write(
      connection,
      async (tx) => {
        tx.put('meta', 'a', 1)
        for (let turn = 0; turn < 1_000; turn += 1) {
          await tx.get('meta', 'a')
          if (turn === 5) controller.abort()
        }
      },
      { signal: controller.signal },
    )
    await storageError(writing, 'the transaction', 'aborted')
    same(await keys(connection), [], 'the stored state')
    await put(connection, { a: 2 })
    same(await get(connection, 'a'), 2, 'a transaction after it')
  }),

  withConnection('an aborted signal prevents a transaction', async (connection) => {
    let begun = false
    const body = async (tx: StoreTransaction) => {
      begun = true
      tx.put('meta', 'a', 1)
    }
    await storageError(write(connection, body, { signal: AbortSignal.abort() }), 'the transaction', 'aborted')
    same([begun, await keys(connection)], [false, []], 'whether the body ran, and the stored keys')
  }),

  withConnection('a signal that is aborted afterwards changes nothing', async (connection) => {
    const controller = new AbortController()
    await write(connection, async (tx) => tx.put('meta', 'a', 1), { signal: controller.signal })
    controller.abort()
    same(await get(connection, 'a'), 1, 'the stored state')
  }),

  withConnection('a read transaction cannot write', async (connection) => {
    await rejection(
      read(connection, async (tx) => tx.put('meta', 'a', 1)),
      'a put',
    )
    await rejection(
      read(connection, async (tx) => tx.delete('meta', {})),
      'a delete',
    )
    same(await keys(connection), [], 'the stored state')
  }),

  withConnection('a read that fails rejects, and does not throw', async (connection) => {
    let hasThrown = true
    const failing = read(connection, async (tx) => {
      const reads = [tx.get('pages', 'a'), tx.keys('pages'), tx.values('pages')]
      hasThrown = false
      await Promise.all(reads)
    })
    await rejection(failing, 'the transaction')
    same(hasThrown, false, 'whether the call threw')
  }),

  withConnection('a transaction reaches only the tables it named', async (connection) => {
    const reaching = write(connection, async (tx) => {
      tx.put('meta', 'a', 1)
      tx.put('pages', 'a', 1)
    })
    await rejection(reaching, 'the transaction')
    same([await keys(connection), await keys(connection, 'pages')], [[], []], 'the stored state')
  }),

  withConnection('strict durability is accepted', async (connection) => {
    await write(connection, async (tx) => tx.put('meta', 'a', 1), { durability: 'strict' })
    same(await get(connection, 'a'), 1, 'the stored state')
  }),
]
