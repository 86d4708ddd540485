import {
  type Answer,
  type Entry,
  type Fields,
  type Frame,
  pause,
  type SmallServer,
  type Tx,
} from './small-server.ts'

/** A server with one fault, and the checks that find it: all of their subjects that do not hold. */
export interface WrongServer {
  readonly title: string
  readonly finds: readonly string[]
  /** Replaces what is right. */
  spoil(server: SmallServer): void
  /** The subjects to run, if those of `finds` would find more than this fault. */
  readonly only?: readonly string[]
}

const wrong = (
  title: string,
  finds: readonly string[],
  spoil: WrongServer['spoil'],
  only?: readonly string[],
): WrongServer => ({ title, finds, spoil, ...(only && { only }) })

/** Changes what a snapshot has. */
const spoilSnapshot = (change: (body: Fields) => Fields) => (server: SmallServer) => {
  const right = server.snapshot.bind(server)
  server.snapshot = async (user) => change((await right(user)) as Fields)
}

/** Changes what a delta has. */
const spoilDelta = (change: (body: Fields, since: number) => Fields) => (server: SmallServer) => {
  const right = server.delta.bind(server)
  server.delta = async (user, since) => {
    const answer = await right(user, since)
    return answer.status === 200 ? { ...answer, body: change(answer.body as Fields, since) } : answer
  }
}

const credentialFaults: readonly WrongServer[] = [
  wrong(
    'serves deltas to everybody',
    [
      'credentials/none-delta',
      'credentials/wrong-delta',
      'credentials/tampered-delta',
      'credentials/expired-delta',
      'credentials/query-delta',
      'credentials/before-anything',
    ],
    (server) => {
      const right = server.userOf.bind(server)
      server.userOf = (token, path) => right(token, path) ?? (path === '/delta' ? 'ada' : undefined)
    },
  ),
  wrong(
    'accepts expired tokens',
    ['bootstrap', 'delta', 'tx', 'socket'].map((endpoint) => `credentials/expired-${endpoint}`),
    (server) => {
      const right = server.userOf.bind(server)
      server.userOf = (token, path) => right(token === 'late' ? 'token-of-ada' : token, path)
    },
  ),
  wrong('opens sockets without a token', ['credentials/none-socket'], (server) => {
    const right = server.userOf.bind(server)
    server.userOf = (token, path) =>
      right(token, path) ?? (path === '/ws' && token === undefined ? 'ada' : undefined)
  }),
  wrong(
    'takes the token from the query of any request',
    ['credentials/query-bootstrap', 'credentials/query-delta'],
    (server) => {
      const right = server.tokenOf.bind(server)
      server.tokenOf = (request, query) => right(request, query) ?? query.get('token') ?? undefined
    },
  ),
  wrong('prefers the token in the query of a socket', ['credentials/header-before-query'], (server) => {
    const right = server.socketTokenOf.bind(server)
    server.socketTokenOf = (request, query) => query.get('token') ?? right(request, query)
  }),
  wrong(
    'ignores the header of a socket',
    ['credentials/socket-header', 'credentials/header-before-query'],
    (server) => {
      server.socketTokenOf = (_, query) => query.get('token') ?? undefined
    },
  ),
  wrong(
    'compares only the beginning of a token',
    ['bootstrap', 'delta', 'tx', 'socket'].map((endpoint) => `credentials/tampered-${endpoint}`),
    (server) => {
      server.userOf = (token) => (token?.startsWith('token-') ? 'ada' : undefined)
    },
  ),
  wrong('checks `since` before the token', ['credentials/before-anything'], (server) => {
    const right = server.answer.bind(server)
    server.answer = async (request, path, query) =>
      path === '/delta' && server.sinceOf(query) === undefined ? { status: 400 } : right(request, path, query)
  }),
  wrong('carries out a transaction before it looks at the token', ['credentials/not-applied'], (server) => {
    const right = server.answer.bind(server)
    server.answer = async (request, path, query) => {
      const isStranger = server.userOf(server.tokenOf(request, query), path) === undefined
      if (path === '/tx' && isStranger && request.method === 'POST') await server.transact('ada', request)
      return right(request, path, query)
    }
  }),
  wrong('repeats a wrong token in the message', ['credentials/not-shown'], (server) => {
    server.refusal = (token) => ({
      status: 401,
      body: { error: { code: 'invalid_token', message: `No ${token}.` } },
    })
  }),
  wrong(
    'responds with 403 instead of 401',
    [
      ...['bootstrap', 'delta', 'tx'].flatMap((endpoint) =>
        ['none', 'wrong', 'tampered', 'expired'].map((kind) => `credentials/${kind}-${endpoint}`),
      ),
      'credentials/query-bootstrap',
      'credentials/query-delta',
      'credentials/before-anything',
      'credentials/not-applied',
    ],
    (server) => {
      server.refusal = () => ({ status: 403 })
    },
  ),
]

const readingFaults: readonly WrongServer[] = [
  wrong(
    'sends the `sid` of a snapshot as text',
    ['snapshot/shape'],
    spoilSnapshot((body) => ({ ...body, sid: String(body.sid) })),
    ['snapshot/shape'],
  ),
  wrong(
    'sends ids that look like numbers as numbers',
    ['snapshot/shape'],
    (server) => {
      server.rows.set('7', { t: 'Issue', id: 7 as unknown as string, p: { userId: 'ada' } })
    },
    ['snapshot/shape'],
  ),
  wrong(
    'has a record twice in a snapshot',
    ['snapshot/own-writes', 'snapshot/agrees-with-deltas'],
    spoilSnapshot((body) => ({ ...body, rows: [body.rows, body.rows].flat() })),
    ['snapshot/own-writes', 'snapshot/agrees-with-deltas', 'snapshot/shape'],
  ),
  wrong(
    'keeps removed records in snapshots',
    ['snapshot/own-writes', 'snapshot/agrees-with-deltas'],
    (server) => {
      const right = server.store.bind(server)
      server.store = (key, row) => (row ? right(key, row) : undefined)
      server.isOwn = (user, row) => server.ownerOf(row) === user
    },
    ['snapshot/own-writes'],
  ),
  wrong('reads the position of a snapshot after its rows', ['order/snapshots'], (server) => {
    const right = server.snapshot.bind(server)
    server.snapshot = async (user) => {
      const body = (await right(user)) as Fields
      await pause(8)
      return { ...body, sid: server.sid }
    }
  }),
  wrong(
    'returns `since` as `sid` above the head',
    ['delta/above-head'],
    spoilDelta((body, since) => ({ ...body, sid: Math.max(since, Number(body.sid)) })),
  ),
  wrong('takes a negative `since`', ['delta/negative-since'], (server) => {
    const right = server.sinceOf.bind(server)
    server.sinceOf = (query) => (query.get('since') === '-1' ? 0 : right(query))
  }),
  wrong('reads `since` with `parseInt`', ['delta/fraction-since', 'delta/nonsense-since'], (server) => {
    server.sinceOf = (query) => {
      const since = Number.parseInt(query.get('since') ?? '', 10)
      return since >= 0 ? since : undefined
    }
  }),
  wrong('takes a missing `since` for 0', ['delta/missing-since', 'delta/empty-since'], (server) => {
    const right = server.sinceOf.bind(server)
    server.sinceOf = (query) => right(query.get('since') ? query : new URLSearchParams('since=0'))
  }),
  wrong(
    'sends the change at `since` again',
    ['delta/at-head', 'delta/shape', 'delta/every-length'],
    (server) => {
      const right = server.framesOf.bind(server)
      server.framesOf = (user, since) => right(user, since - 1)
    },
    ['delta/at-head'],
  ),
  wrong(
    'counts a position up with each delta',
    ['delta/at-head'],
    (server) => {
      const right = server.delta.bind(server)
      server.delta = (user, since) => {
        server.sid += 1
        return right(user, since)
      }
    },
    ['delta/at-head'],
  ),
  wrong(
    'forgets old changes without a 410',
    ['delta/every-length'],
    (server) => {
      const right = server.commit.bind(server)
      server.commit = async (draft, entries) => {
        const verdict = await right(draft, entries)
        server.log = server.log.slice(-4)
        return verdict
      }
    },
    ['delta/every-length'],
  ),
  wrong(
    'sends frames in the order of records',
    ['delta/every-length', 'delta/from-zero'],
    spoilDelta((body) => ({
      ...body,
      frames: [...(body.frames as readonly Frame[])].sort((a, b) => (a.id < b.id ? -1 : 1)).reverse(),
    })),
    ['delta/every-length'],
  ),
  wrong(
    'ends a delta at the last change but one',
    ['delta/between-sids'],
    (server) => {
      const right = server.framesOf.bind(server)
      server.framesOf = (user, since) =>
        right(user, since).filter(({ sid }) => sid < server.sid || since === server.sid - 3)
    },
    ['delta/between-sids'],
  ),
]

const writingFaults: readonly WrongServer[] = [
  wrong(
    'replaces the whole record by an update',
    ['changes/update-merges', 'changes/null', 'changes/several-in-one-transaction'],
    (server) => {
      server.merged = (before, p) => ({ userId: before.p.userId, ...p })
    },
    ['changes/update-merges'],
  ),
  wrong(
    'has no frame for a removal',
    ['changes/removal'],
    (server) => {
      const right = server.framesOf.bind(server)
      server.framesOf = (user, since) => right(user, since).filter(({ op }) => op !== 'd')
    },
    ['changes/removal'],
  ),
  wrong(
    'keeps the fields of a removed record for the next one',
    ['changes/re-insertion'],
    (server) => {
      const removed = new Map<string, Fields>()
      const right = server.store.bind(server)
      server.store = (key, row) => {
        const before = server.rows.get(key)
        if (!row && before) removed.set(key, before.p)
        right(key, row && { ...row, p: { ...removed.get(key), ...row.p } })
      }
      const framesOf = server.framesOf.bind(server)
      server.framesOf = (user, since) =>
        framesOf(user, since).map((frame) =>
          frame.op === 'i'
            ? { ...frame, p: { ...removed.get(JSON.stringify([frame.t, frame.id])), ...frame.p } }
            : frame,
        )
    },
    ['changes/re-insertion', 'changes/insert'],
  ),
  wrong('merges a `put`', ['changes/put'], (server) => {
    const right = server.apply.bind(server)
    server.apply = (user, tx) =>
      right(user, {
        ...tx,
        ops: tx.ops.map((op) =>
          op.put && server.rows.has(JSON.stringify([op.t, op.id])) ? { ...op, op: 'u' as const } : op,
        ),
      })
  }),
  wrong('leaves out fields that are `null`', ['changes/null'], (server) => {
    server.merged = (before, p) => ({
      ...before.p,
      ...Object.fromEntries(Object.entries(p).filter(([, value]) => value !== null)),
    })
  }),
  wrong(
    'makes a change visible before those with lower positions',
    ['order/no-change-missed'],
    (server) => {
      server.serially = (work) => work()
      server.commit = async (draft, entries) => {
        const numbered = server.numbered(entries)
        server.sid += entries.length
        const sid = server.resultSid(numbered)
        // Those with one change are the quickest.
        await pause(entries.length === 1 ? 1 : 30)
        for (const [key, row] of draft) server.store(key, row)
        server.log.push(...numbered)
        server.log.sort((a, b) => a.frame.sid - b.frame.sid)
        return { sid }
      }
    },
    ['order/no-change-missed'],
  ),
  wrong('shows a transaction change by change', ['order/whole-transactions'], (server) => {
    server.commit = async (draft, entries) => {
      const numbered = server.numbered(entries)
      for (const [key, row] of draft) server.store(key, row)
      for (const entry of numbered) {
        server.sid = entry.frame.sid
        server.log.push(entry)
        await pause(1)
      }
      return { sid: server.sid }
    }
  }),
  wrong(
    'numbers two transactions alike',
    ['order/own-sids'],
    (server) => {
      let shift = 0
      server.resultSid = (entries) => {
        shift = 1 - shift
        return (entries.at(-1)?.frame.sid ?? server.sid) - (shift && 0)
      }
      const right = server.numbered.bind(server)
      let last = 0
      server.numbered = (entries) => {
        // Every tenth time, the number of the transaction before.
        const numbered = right(entries)
        last += 1
        return last % 10 === 0 && entries.length === 1
          ? numbered.map(({ owner, frame }) => ({ owner, frame: { ...frame, sid: frame.sid - 1 } }))
          : numbered
      }
    },
    ['order/own-sids'],
  ),
  wrong(
    'carries out the ops before the one that is refused',
    ['transactions/whole-or-not', 'transactions/condition-own-changes'],
    (server) => {
      const right = server.apply.bind(server)
      server.apply = async (user, tx) => {
        let sid = server.sid
        for (const op of tx.ops) {
          const verdict = await right(user, { ...tx, ops: [op] })
          if ('error' in verdict) return verdict
          sid = verdict.sid
        }
        return { sid }
      }
    },
  ),
  wrong('names the first change of a transaction in its result', ['transactions/sid'], (server) => {
    server.resultSid = (entries) => entries[0]?.frame.sid ?? server.sid
  }),
  wrong('numbers all changes of a transaction alike', ['transactions/sid'], (server) => {
    server.numbered = (entries) =>
      entries.map(({ owner, frame }) => ({ owner, frame: { ...frame, sid: server.sid + 1 } }))
  }),
  wrong('names another transaction in its frames', ['transactions/tx-in-frames'], (server) => {
    const right = server.numbered.bind(server)
    server.numbered = (entries) =>
      right(
        entries.map(({ owner, frame }, at) => ({
          owner,
          frame: at === 0 ? frame : { ...frame, tx: 'another' },
        })),
      )
  }),
  wrong(
    'carries out a transaction again that is sent again',
    [
      'transactions/same-id-again',
      'transactions/same-id-at-once',
      'transactions/same-id-in-one-request',
      'transactions/refused-again',
      'transactions/order-of-keys',
      'transactions/other-body',
      'transactions/cut-off',
    ],
    (server) => {
      server.remember = () => {}
    },
    ['transactions/same-id-again', 'transactions/same-id-at-once'],
  ),
  wrong(
    'decides twice about a transaction that comes twice at once',
    ['transactions/same-id-at-once'],
    (server) => {
      server.serially = (work) => work()
      const right = server.verdictOn.bind(server)
      server.verdictOn = async (user, tx) => {
        await pause(20)
        return right(user, tx)
      }
    },
    ['transactions/same-id-at-once', 'transactions/same-id-again'],
  ),
  wrong('stores no verdict if nobody waits for the answer', ['transactions/cut-off'], (server) => {
    server.decideNow = async (user, tx, request) => {
      const { id } = tx
      const key = server.verdictKey(user, id)
      const first = server.verdicts.get(key)
      if (first)
        return first.body === server.bodyOf(tx) ? { id, ...first.verdict } : server.reused(id, first.verdict)
      const verdict = await server.verdictOn(user, tx)
      await pause(15)
      if (!request?.socket.destroyed) server.remember(key, server.bodyOf(tx), verdict)
      return { id, ...verdict }
    }
  }),
  wrong('stores only what it accepts', ['transactions/refused-again'], (server) => {
    const right = server.remember.bind(server)
    server.remember = (key, body, verdict) => ('sid' in verdict ? right(key, body, verdict) : undefined)
  }),
  wrong(
    'does not look at the body of a transaction that is sent again',
    ['transactions/other-body'],
    (server) => {
      server.bodyOf = () => ''
    },
  ),
  wrong('compares the text of a body', ['transactions/order-of-keys'], (server) => {
    server.bodyOf = ({ ops }: Tx) => JSON.stringify(ops)
  }),
  wrong('has another verdict in `id_reused`', ['transactions/first-verdict-in-id-reused'], (server) => {
    server.reused = (id) => ({ id, error: { code: 'id_reused', details: { sid: 1 } } })
  }),
  wrong('ignores `requires`', ['transactions/requires', 'transactions/requires-unknown'], (server) => {
    server.isAccepted = () => true
  }),
  wrong('ignores conditions', ['transactions/condition', 'transactions/condition-on-a-removal'], (server) => {
    server.isChanged = () => false
  }),
  wrong('takes own changes for conflicts', ['transactions/condition-own-changes'], (server) => {
    const right = server.isChanged.bind(server)
    server.isChanged = (user, op, since, { bases: _, ...tx }) => right(user, op, since, tx)
  }),
  wrong('refuses the removal of what is not there', ['transactions/no-change'], (server) => {
    const right = server.apply.bind(server)
    server.apply = async (user, tx) => {
      const missing = tx.ops.some(
        ({ op, t, id, was }) => op === 'd' && was === undefined && !server.rows.has(JSON.stringify([t, id])),
      )
      return missing && tx.ops.length === 1 ? { error: { code: 'not_found' } } : right(user, tx)
    }
  }),
  wrong(
    'takes a body that it cannot read for an error of its own',
    ['refusals/no-json'],
    (server) => {
      const right = server.isBody.bind(server)
      server.isBody = (body) => {
        if (body === undefined) throw new Error('Unexpected end of JSON input')
        return right(body)
      }
    },
    ['refusals/no-json', 'refusals/no-list'],
  ),
  wrong(
    'accepts any text',
    ['refusals/nul-in-id', 'refusals/half-pair', 'refusals/nul-in-field'],
    (server) => {
      server.isText = (value) => typeof value === 'string'
    },
  ),
  wrong('accepts infinite numbers', ['refusals/huge-number'], (server) => {
    server.isNumber = () => true
  }),
  wrong(
    'accepts every op',
    ['refusals/unknown-op'],
    (server) => {
      const right = server.isOp.bind(server)
      server.isOp = (op) => right({ ...(op as Fields), op: 'i' })
    },
    ['refusals/unknown-op', 'refusals/long-id'],
  ),
  wrong(
    'refuses the whole request for one op',
    ['refusals/unknown-op'],
    (server) => {
      const right = server.isBody.bind(server)
      server.isBody = (body) =>
        right(body) &&
        (body as { txs: readonly Tx[] }).txs.every(({ ops }) => ops.every((op) => server.isOp(op)))
    },
    ['refusals/unknown-op'],
  ),
]

const payloadFaults: readonly WrongServer[] = [
  wrong('stores numbers with 32 bits', ['payloads/numbers'], (server) => {
    server.kept = (p) =>
      JSON.parse(JSON.stringify(p), (_, value) => (typeof value === 'number' ? Math.fround(value) : value))
  }),
  wrong('normalizes and trims texts', ['payloads/texts', 'payloads/long-text'], (server) => {
    server.kept = (p) =>
      JSON.parse(JSON.stringify(p), (_, value) =>
        typeof value === 'string' ? value.normalize().trim() : value,
      )
  }),
  wrong('cuts off long texts', ['payloads/long-text'], (server) => {
    server.kept = (p) =>
      JSON.parse(JSON.stringify(p), (_, value) =>
        typeof value === 'string' ? value.slice(0, 65_535) : value,
      )
  }),
  wrong('loses empty values', ['payloads/values'], (server) => {
    server.kept = (p) =>
      JSON.parse(JSON.stringify(p), (name, value) => (name !== '' && value === null ? undefined : value))
  }),
  wrong(
    'takes ids for the same that differ in case',
    ['payloads/ids-that-look-alike', 'payloads/id-with-signs'],
    (server) => {
      const right = server.apply.bind(server)
      server.apply = (user, tx) =>
        right(user, {
          ...tx,
          ops: tx.ops.map((op) => ({ ...op, id: op.id.length < 255 ? op.id.toLowerCase() : op.id })),
        })
    },
  ),
]

const pushFaults: readonly WrongServer[] = [
  wrong(
    'pushes binary messages',
    ['pushes/text'],
    (server) => {
      server.sendPush = (socket, since, frames) =>
        socket.send(Buffer.from(JSON.stringify({ since, sid: frames.at(-1)?.sid, frames })))
    },
    ['pushes/text'],
  ),
  wrong(
    'pushes nothing',
    ['pushes/arrive'],
    (server) => {
      server.push = () => {}
    },
    ['pushes/arrive', 'pushes/text'],
  ),
  wrong('pushes other fields than a delta has', ['pushes/what-the-log-says'], (server) => {
    const right = server.sendPush.bind(server)
    server.sendPush = (socket, since, frames) =>
      right(
        socket,
        since,
        frames.map((frame) => (frame.op === 'i' ? { ...frame, p: { title: 'stale' } } : frame)),
      )
  }),
  wrong('pushes a transaction in several messages', ['pushes/whole-transactions'], (server) => {
    const right = server.sendPush.bind(server)
    server.sendPush = (socket, since, frames) => {
      for (const [at, frame] of frames.entries()) right(socket, at === 0 ? since : frame.sid - 1, [frame])
    }
  }),
  wrong('pushes what it refuses', ['pushes/refused'], (server) => {
    const right = server.apply.bind(server)
    server.apply = async (user, tx) => {
      const verdict = await right(user, tx)
      if ('error' in verdict) {
        const entries = tx.ops.map(
          ({ op, t, id }): Entry => ({ owner: user, frame: { sid: server.sid, t, id, op } }),
        )
        server.push(entries.slice(0, 1))
      }
      return verdict
    }
  }),
  wrong('says that a push begins at 0', ['pushes/since'], (server) => {
    const right = server.sendPush.bind(server)
    server.sendPush = (socket, _, frames) => right(socket, 0, frames)
  }),
  wrong(
    'subscribes a socket after its hello',
    ['pushes/hello'],
    (server) => {
      const right = server.subscribe.bind(server)
      server.subscribe = (socket, user) => void setTimeout(() => right(socket, user), 40)
    },
    ['pushes/hello'],
  ),
  wrong(
    'announces a heartbeat, and sends none',
    ['pushes/heartbeat'],
    (server) => {
      server.beat = () => {}
    },
    ['pushes/heartbeat'],
  ),
]

const ownershipFaults: readonly WrongServer[] = [
  wrong(
    'shows all rows to everybody',
    ['ownership/snapshot'],
    (server) => {
      server.rowsOf = () => [...server.rows.values()]
    },
    ['ownership/snapshot'],
  ),
  wrong(
    'sends all changes to everybody',
    ['ownership/delta'],
    (server) => {
      server.framesOf = (_, since) => server.log.map(({ frame }) => frame).filter(({ sid }) => sid > since)
    },
    ['ownership/delta', 'ownership/snapshot'],
  ),
  wrong('pushes all changes to everybody', ['ownership/pushes'], (server) => {
    server.hears = () => true
  }),
  wrong(
    "changes everybody's records",
    ['ownership/update-foreign', 'ownership/remove-foreign', 'ownership/insert-foreign-id'],
    (server) => {
      server.isOwn = () => true
    },
  ),
  wrong('shares verdicts among users', ['ownership/transaction-ids'], (server) => {
    server.verdictKey = (_, id) => id
  }),
  wrong('says nothing to the old owner of a record that moves', ['ownership/move'], (server) => {
    server.farewell = () => []
  }),
  wrong('sends only the changed fields to the new owner of a record', ['ownership/move'], (server) => {
    const right = server.entriesOf.bind(server)
    server.entriesOf = (user, op, before, after, tx) =>
      right(user, op, before, after, tx).map(({ owner, frame }) => ({
        owner,
        frame: owner !== user && frame.op === 'i' ? { ...frame, op: 'u' as const, p: op.p ?? {} } : frame,
      }))
  }),
]

const undoFaults: readonly WrongServer[] = [
  wrong(
    'lists `was`, and ignores it',
    [
      'undo/was-of-an-update',
      'undo/unset',
      'undo/was-of-a-removal',
      'undo/whole',
      'undo/was-of-an-insertion',
      'undo/was-without-record',
    ],
    (server) => {
      server.remaining = (op) => op
      const right = server.apply.bind(server)
      server.apply = (user, tx) => right(user, { ...tx, ops: tx.ops.map(({ was: _, ...op }) => op) })
    },
  ),
  wrong('ignores `whole`', ['undo/whole'], (server) => {
    const right = server.remaining.bind(server)
    server.remaining = ({ whole: _, ...op }, before) => right(op, before)
  }),
  wrong('ignores `unset`', ['undo/unset'], (server) => {
    const right = server.remaining.bind(server)
    server.remaining = ({ unset: _, ...op }, before) => right(op, before)
  }),
]

const extensionFaults: readonly WrongServer[] = [
  wrong(
    'has another epoch in deltas',
    ['extensions/epoch'],
    spoilDelta((body) => ({ ...body, epoch: 'another' })),
  ),
  wrong('has another caller for each request', ['extensions/caller'], (server) => {
    let count = 0
    server.callerOf = (user) => {
      count += 1
      return `${user}-${count}`
    }
  }),
  wrong(
    'names the caller after the rows',
    ['extensions/caller'],
    spoilSnapshot(({ caller, lines: _, ...body }) => ({ ...body, caller })),
  ),
  wrong('has the same caller for everybody', ['extensions/other-caller'], (server) => {
    server.callerOf = () => 'everybody'
  }),
  wrong(
    'counts the rows of everybody',
    ['extensions/count'],
    spoilSnapshot((body) => ({ ...body, count: Number(body.count) + 1 })),
  ),
  wrong('announces lines, and breaks none', ['extensions/lines'], (server) => {
    server.textOf = (body) => JSON.stringify(body)
  }),
]

const transportFaults: readonly WrongServer[] = [
  wrong(
    'says gzip, and compresses nothing',
    ['transport/gzip'],
    (server) => {
      server.bytesOf = (text) => ({ bytes: text, encoding: 'gzip' })
    },
    ['transport/gzip'],
  ),
  wrong(
    'compresses for clients that do not accept it',
    ['transport/gzip'],
    (server) => {
      const right = server.bytesOf.bind(server)
      server.bytesOf = (text, request) =>
        right(text, { ...request, headers: { 'accept-encoding': 'gzip' } } as typeof request)
    },
    ['transport/gzip'],
  ),
  wrong('has no CORS headers on a 401', ['transport/cors'], (server) => {
    const right = server.cors.bind(server)
    server.cors = (request, status) => (status === 401 ? {} : right(request, status))
  }),
  wrong('allows cookies to all origins', ['transport/cors-with-cookies'], (server) => {
    const right = server.cors.bind(server)
    server.cors = (request, status) => ({ ...right(request, status), 'access-control-allow-origin': '*' })
  }),
  wrong('asks a preflight for a token', ['transport/preflight'], (server) => {
    const right = server.answer.bind(server)
    server.answer = async (request, path, query): Promise<Answer> =>
      request.method === 'OPTIONS' ? { status: 401 } : right(request, path, query)
  }),
  wrong('allows a page no `Authorization`', ['transport/preflight'], (server) => {
    const right = server.cors.bind(server)
    server.cors = (request, status) => ({ ...right(request, status), 'access-control-allow-headers': '*' })
  }),
  wrong('lets proxies cache its responses', ['transport/not-cached'], (server) => {
    server.fixedHeaders = () => ({ 'cache-control': 'max-age=60' })
  }),
]

/** By the subject of the report in which they show. */
export const wrongServers: readonly WrongServer[] = [
  ...credentialFaults,
  ...readingFaults,
  ...writingFaults,
  ...payloadFaults,
  ...pushFaults,
  ...ownershipFaults,
  ...undoFaults,
  ...extensionFaults,
  ...transportFaults,
]
