import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { insert } from '../server/harness.ts'
import { asService } from './judge.ts'

/*
 * A process that has a folder: `holder.ts <folder> [write]`. It says `{ready}` or `{error}`; with `write` it then
 * writes one record after the other until it is killed, and says the id of each, `{id}`, once it is answered.
 */

const [folder = '', write] = process.argv.slice(2)
const say = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`)
try {
  const log = await openSqlLog(folder)
  say({ ready: true })
  for (let id = 0; write !== undefined; id += 1) {
    await log.write([insert(`${write}-${id}`, { text: 'x'.repeat(2_000) })], asService)
    say({ id: `${write}-${id}` })
  }
  setInterval(() => {}, 1_000)
} catch (error) {
  say({ error: error instanceof Error ? error.message : '' })
}
