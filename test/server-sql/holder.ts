import { openSqlLog } from '../../src/server/log/sql/open.ts'

/* A process that has a folder until it is killed: `holder.ts <folder>`. It says `{ready}`. */

await openSqlLog(process.argv[2] ?? '')
process.stdout.write('{"ready":true}\n')
setInterval(() => {}, 1_000)
