import { Client } from 'pg'

/*
 * A process of an application that writes by SQL: `sql-writer.ts <database> <name> <isolation level> <changes>`. It says
 * what it has done as `{changes, deadlocks, serialization, timeouts}`.
 */

const [connectionString = '', name = '', level = '', wanted = ''] = process.argv.slice(2)
const client = new Client({ connectionString })
await client.connect()
await client.query("set lock_timeout = '200ms'")

const counts = { changes: 0, deadlocks: 0, serialization: 0, timeouts: 0 }
const random = (max: number) => Math.floor(Math.random() * max)
const pick = <T>(items: readonly T[]): T | undefined => items[random(items.length)]
const pause = () => new Promise((resolve) => setTimeout(resolve, random(5)))
const own = () => `${name}-${random(40)}`
const run = async (text: string, ...values: unknown[]) => (await client.query(text, values)).rowCount ?? 0

const insert = (id: string, title: string) =>
  run(
    `insert into issues (id, team_id, title) values ($1, $2, $3)
     on conflict (id) do update set title = excluded.title, size = coalesce(issues.size, 0) + 1`,
    id,
    pick(['red', 'blue', 'green']),
    title,
  )

/** Each changes rows, in the order of their ids, and returns how many. */
const steps: readonly (() => Promise<number>)[] = [
  () => insert(own(), `by ${name}`),
  () => run("update issues set size = coalesce(size, 0) + 1 where id like $1 || '-1%'", name),
  () =>
    run(
      "update issues set team_id = case team_id when 'red' then 'blue' else 'red' end where id = $1",
      own(),
    ),
  () => run('delete from issues where id = $1', own()),
  async () => {
    const id = own()
    return (await run('delete from issues where id = $1', id)) + (await insert(id, 'again'))
  },
  async () => {
    // Two keys are swapped.
    const [a, b] = [`${name}-0`, `${name}-1`]
    const away = await run('update issues set id = $2 where id = $1', a, `${name}-away`)
    const over = await run('update issues set id = $1 where id = $2', a, b)
    return away + over + (await run('update issues set id = $1 where id = $2', b, `${name}-away`))
  },
  async () => {
    await run('savepoint s')
    await insert(own(), 'undone')
    await run('rollback to savepoint s')
    return 0
  },
  () => run("update issues set title = $1 where id = 'shared-' || $2::text", `by ${name}`, random(20)),
  () =>
    run(
      "insert into comments (team, issue, text) select 'red', id, 'By ' || $1 from issues where id like $1 || '-2%'",
      name,
    ),
  () =>
    run(
      'delete from comments where id in (select id from comments where text = $1 order by id limit 5)',
      `By ${name}`,
    ),
  async () => {
    await pause()
    return 0
  },
]

while (counts.changes < Number(wanted)) {
  try {
    await run(`begin isolation level ${level}`)
    let changes = 0
    for (let left = 1 + random(4); left > 0; left -= 1) changes += (await pick(steps)?.()) ?? 0
    if (random(10) === 0) await run('rollback')
    else {
      await run('commit')
      counts.changes += changes
    }
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === '40P01') counts.deadlocks += 1
    else if (code === '40001') counts.serialization += 1
    else if (code === '55P03') counts.timeouts += 1
    else throw error
    await run('rollback')
  }
}
process.stdout.write(`${JSON.stringify(counts)}\n`)
await client.end()
