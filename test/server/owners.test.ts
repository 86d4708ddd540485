import { describe, expect, test } from 'vitest'
import type { TxOp, TxResult } from '../../src/protocol/tx.ts'
import { bearerToken, type Caller } from '../../src/server/index.ts'
import { serviceOf } from './harness.ts'

const ownerField = 'owner'

function insert(id: string, owner?: string, fields: object = {}): TxOp {
  return { op: 'i', t: 'Todo', id, p: { ...(owner !== undefined && { owner }), ...fields } }
}

const move = (id: string, owner: string): TxOp => ({ op: 'u', t: 'Todo', id, p: { owner } })

/** A service whose callers have the owners of `members`, which a test may change. */
function teams(members: Record<string, readonly string[] | undefined>) {
  const made = serviceOf({
    ownerField,
    authenticate: async (request) => {
      const userId = bearerToken(request)?.replace('token-of-', '') ?? ''
      return { userId, owners: members[userId] } satisfies Caller
    },
  })
  let sent = 0
  const send = async (user: string, ...ops: readonly TxOp[]): Promise<TxResult | undefined> => {
    sent += 1
    const body = JSON.stringify({ txs: [{ id: `tx-${sent}`, since: 0, ops }] })
    const response = await made.ask('tx', { method: 'POST', body, user })
    const { results }: { readonly results: readonly TxResult[] } = await response.json()
    return results[0]
  }
  const codeOf = async (user: string, ...ops: readonly TxOp[]) => {
    const result = await send(user, ...ops)
    return result && 'error' in result ? result.error.code : 'accepted'
  }
  const idsOf = async (user: string) => (await made.json('bootstrap', { user })).rows.map(({ id }) => id)
  const ownerOf = async (user: string, id: string) =>
    (await made.json('bootstrap', { user })).rows.find((row) => row.id === id)?.p.owner
  return { ...made, members, codeOf, idsOf, ownerOf }
}

describe('a caller of several owners', () => {
  test('sees the records of each owner, and no others', async () => {
    const { service, idsOf } = teams({ ann: ['user:ann', 'team:a'], bob: ['team:a'], cid: [] })
    await service.write([insert('1', 'user:ann'), insert('2', 'team:a'), insert('3', 'team:b')])
    expect(await idsOf('ann')).toEqual(['1', '2'])
    expect(await idsOf('bob')).toEqual(['2'])
    expect(await idsOf('cid')).toEqual([])
  })

  test('inserts for the first owner, unless the record names another of its owners', async () => {
    const { codeOf, ownerOf } = teams({ ann: ['user:ann', 'team:a'] })
    expect(await codeOf('ann', insert('1'), insert('2', 'team:a'))).toBe('accepted')
    expect(await ownerOf('ann', '1')).toBe('user:ann')
    expect(await ownerOf('ann', '2')).toBe('team:a')
  })

  test('cannot insert for another owner, nor move a record to one', async () => {
    const { codeOf, ownerOf } = teams({ ann: ['user:ann', 'team:a'] })
    await codeOf('ann', insert('1'))
    expect(await codeOf('ann', insert('2', 'team:b'))).toBe('forbidden')
    expect(await codeOf('ann', move('1', 'team:b'))).toBe('forbidden')
    expect(await codeOf('ann', move('1', 'team:a'))).toBe('accepted')
    expect(await ownerOf('ann', '1')).toBe('team:a')
  })

  test('leaves a record with its owner by a `put` that names none', async () => {
    const { codeOf, ownerOf } = teams({ ann: ['user:ann', 'team:a'] })
    const put: TxOp = { op: 'i', t: 'Todo', id: '1', p: { n: 1 }, put: true }
    expect(await codeOf('ann', insert('1', 'team:a'), put)).toBe('accepted')
    expect(await ownerOf('ann', '1')).toBe('team:a')
  })

  test('without any owner, can write nothing that needs one', async () => {
    const { service, codeOf } = teams({ ann: [] })
    await service.write([insert('1', 'team:a')])
    expect(await codeOf('ann', insert('2'))).toBe('forbidden')
    expect(await codeOf('ann', insert('2', 'team:a'))).toBe('forbidden')
    expect(await codeOf('ann', { op: 'u', t: 'Todo', id: '1', p: { n: 1 } })).toBe('not_found')
    expect(await codeOf('ann', { op: 'd', t: 'Todo', id: '1' })).toBe('accepted')
  })

  test('gets one push for a write, with the frames of all owners in the order of sids', async () => {
    const { service, connect } = teams({ ann: ['team:a', 'team:b'] })
    const socket = await connect('ann')
    await service.write([insert('1', 'team:b'), insert('2', 'team:a'), insert('3', 'team:b')])
    expect(socket.pushes.map(({ since, sid }) => [since, sid])).toEqual([[0, 3]])
    expect(socket.pushes[0]?.frames.map(({ sid, id }) => [sid, id])).toEqual([
      [1, '1'],
      [2, '2'],
      [3, '3'],
    ])
  })

  test('whose credentials name no owner gets an error that says so', async () => {
    const { ask } = teams({ ann: undefined })
    const response = await ask('bootstrap')
    expect(response.status).toBe(403)
    expect((await response.json()).error.message).toBe(
      'The credentials have no `owners`, which names the owner of the data.',
    )
  })

  test.each([['team:a'], [['team:a', 7]], [['']], [['team\0']], [{}]])(
    'whose owners are %j is refused, and the log says why',
    async (owners) => {
      const { ask, lines } = serviceOf({
        authenticate: async () => ({ userId: 'ann', owners }) as never,
      })
      expect((await ask('bootstrap')).status).toBe(503)
      expect(lines.join()).toContain('The `owners` of a caller must be an array of texts')
    },
  )
})

test('invariant 76: a moved record is removed for callers of its old owner, sent whole to callers of its new owner, and never missing for callers of both', async () => {
  const { service, json, connect } = teams({ old: ['team:a'], next: ['team:b'], both: ['team:b', 'team:a'] })
  await service.write([insert('1', 'team:a', { title: 'x' })])
  const sockets = { old: await connect('old'), next: await connect('next'), both: await connect('both') }
  await service.write([move('1', 'team:b')])
  const removal = { sid: 2, op: 'd', t: 'Todo', id: '1' }
  const arrival = { sid: 3, op: 'i', t: 'Todo', id: '1', p: { owner: 'team:b', title: 'x' } }
  for (const [user, frames] of Object.entries({ old: [removal], next: [arrival], both: [arrival] })) {
    expect((await json('delta?since=1', { user })).frames).toMatchObject(frames)
  }
  expect(sockets.old.pushes).toMatchObject([{ sid: 3, frames: [removal] }])
  expect(sockets.next.pushes).toMatchObject([{ sid: 3, frames: [arrival] }])
  expect(sockets.both.pushes).toMatchObject([{ since: 1, sid: 3, frames: [arrival] }])
})

describe('the epoch', () => {
  const epochs = async (...owners: readonly (readonly string[])[]) => {
    const { json, members } = teams({})
    const found: string[] = []
    for (const set of owners) {
      members.ann = set
      found.push((await json('delta?since=0')).epoch)
    }
    return new Set(found).size
  }

  test('depends on the set of owners, not on their order', async () => {
    expect(await epochs(['team:a', 'team:b'], ['team:b', 'team:a'], ['team:a', 'team:b', 'team:a'])).toBe(1)
    expect(await epochs(['team:a', 'team:b'], ['team:a'], [], ['team:a', 'team:c'], ['team:a,team:b'])).toBe(
      5,
    )
  })
})

describe('the sockets of many callers that are revoked at once', () => {
  test('are closed within a minute, at different times, and receive no change meanwhile', async () => {
    const users = Array.from({ length: 300 }, (_, n) => `user${n}`)
    const { service, clock, connect } = teams(Object.fromEntries(users.map((user) => [user, ['team:a']])))
    const sockets = await Promise.all(users.map((user) => connect(user)))
    service.revoke(() => true)
    const closed = () => sockets.filter((socket) => socket.closed).length
    expect(closed()).toBe(100)
    await service.write([insert('1', 'team:a')])
    await clock.advance(30_000)
    expect(closed()).toBeGreaterThan(150)
    expect(closed()).toBeLessThan(250)
    await clock.advance(30_000)
    expect(closed()).toBe(300)
    expect(sockets.flatMap(({ pushes }) => pushes).filter(({ frames }) => frames.length > 0)).toEqual([])
  })
})
