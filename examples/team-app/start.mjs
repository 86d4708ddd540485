import { createInterface } from 'node:readline'
import { readArguments } from '../arguments.mjs'
import { start } from './server.mjs'

const usage = 'Usage: npm run team-app -- [folder or postgres://…] [--port <number>]'
const app = await start(readArguments({ usage, port: 4500 }))
const stop = async () => {
  await app.close()
  process.exit()
}
process.once('SIGINT', stop)
process.once('SIGTERM', stop)
console.log(`Open ${app.url}

Then type SQL here, and watch the page:

  update issues set title = upper(title);

  insert into issues (team_id, project_id, title, author_id)
  select 2, 3, 'Check buoy ' || n, 2 from generate_series(1, 1000) n;

  update issues set status = 'closed' where team_id = 2;

Ctrl-C stops it.
`)

let statement = ''
for await (const line of createInterface({ input: process.stdin })) {
  statement += `${line}\n`
  if (!line.trimEnd().endsWith(';')) continue
  const rows = await app.query(statement).catch(({ message }) => [{ error: message }])
  if (rows.length > 0) console.table(rows)
  statement = ''
}
