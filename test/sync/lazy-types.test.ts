import { expect, test } from 'vitest'
import { noDatabase } from '../../src/database/none.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import { createReplica } from '../../src/replica/create-replica.ts'
import { LazyTypes } from '../../src/sync/lazy-types.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

test('what happened to a record is kept until it is shown, also where its type was loaded in vain', async () => {
  const clock = new VirtualClock()
  const replica = createReplica({ clock, onListenerError: () => {} })
  replica.swap(replica.stage(new Set(['Issue'])))
  const joined: (WireRow | undefined)[] = []
  const lazy = new LazyTypes({
    types: ['Issue'],
    replica,
    database: () => ({ ...noDatabase, read: async () => ({ sid: 1, at: 0 }) }),
    listener: {
      join: (staging, types) => {
        joined.push(staging.rows.get('Issue', '1'))
        replica.join(staging, types, () => [])
      },
      lost: (error) => expect.unreachable(error.message),
    },
  })
  lazy.replaced({ sid: 1, epoch: undefined })
  lazy.keep([{ op: 'i', t: 'Issue', id: '1', p: {} }])

  // A snapshot begins to be stored while what was read is being prepared.
  const stage = replica.stage.bind(replica)
  replica.stage = (unloaded) => {
    const staging = stage(unloaded)
    const prepare = staging.prepare.bind(staging)
    staging.prepare = () => {
      lazy.pause()
      return prepare()
    }
    return staging
  }
  lazy.use('Issue')
  await clock.advance(1)
  expect(joined).toEqual([])

  // It could not be stored.
  replica.stage = stage
  lazy.resume()
  await clock.advance(1)
  expect(joined).toEqual([{ t: 'Issue', id: '1', p: {} }])
})
