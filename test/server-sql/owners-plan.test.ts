import { Client } from 'pg'
import { expect, test } from 'vitest'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { ownPostgres } from '../support/own-postgres.ts'

const postgres = ownPostgres()
const owners = Array.from({ length: 20 }, (_, n) => `team:${n}`)

/** A log of 20 000 changes of 1 000 owners, whose records all are there. */
const filling = `
  insert into instep_log (sid, owner, t, id, at, last, frame)
    select n, 'team:' || n % 1000, 'Todo', n::text, 0, true, '{"op":"i","p":{"text":"some text"}}'
    from generate_series(1, 20000) n;
  insert into instep_record (t, id, owner, sid, p) select t, id, owner, sid, frame->'p' from instep_log;
  update instep_state set head = 20000;
  analyze`

/** The statement of a cursor, as it is sent. */
interface Sent {
  readonly text: string
  readonly values?: readonly unknown[]
}

/** The cursors that are opened while `work` runs. */
async function cursorsOf(work: () => Promise<unknown>): Promise<readonly Sent[]> {
  const { query } = Client.prototype
  const sent: Sent[] = []
  Client.prototype.query = function recording(this: Client, ...args: readonly unknown[]) {
    const [statement] = args as [Sent]
    if (statement.text?.includes('declare items')) sent.push(statement)
    return Reflect.apply(query, this, args)
  } as typeof query
  try {
    await work()
  } finally {
    Client.prototype.query = query
  }
  return sent
}

test('a delta and a snapshot of many owners scan the index of owners, and never the whole log', async () => {
  const address = await postgres.database('owners-plan')
  const log = await openSqlLog(address)
  await postgres.run('owners-plan', filling)
  const reads = async () => {
    for (const { batches } of [await log.delta(owners, 100), await log.snapshot(owners)]) {
      for await (const batch of batches) expect(batch).not.toBe('')
    }
  }
  const [delta, snapshot] = await cursorsOf(reads)
  await log.close()

  const client = new Client({ connectionString: address })
  await client.connect()
  const planOf = async (sent: Sent | undefined) => {
    const { rows } = await client.query(`explain ${sent?.text}`, [...(sent?.values ?? [])])
    return rows.map((row) => row['QUERY PLAN']).join('\n')
  }
  await client.query('set plan_cache_mode = force_custom_plan')
  const plans = [await planOf(delta), await planOf(snapshot)]
  const list = `'{${owners.join()}}'::text[]`
  const walking = `declare items cursor for select sid from instep_log where owner = any(${list}) and sid > 100 order by sid`
  const walk = await planOf({ text: walking })
  await client.end()

  expect(plans[0]).toContain('instep_log_owner')
  expect(plans[1]).toContain('instep_record_owner')
  for (const plan of plans) expect(plan).not.toMatch(/Seq Scan|_pkey/)
  // The obvious statement would do that.
  expect(walk).toContain('instep_log_pkey')
})
