import { start } from './server.mjs'

const [database = 'memory:'] = process.argv.slice(2)
const app = await start({ port: 4400, database })
process.once('SIGINT', () => app.close())
process.once('SIGTERM', () => app.close())
console.log(`Open ${app.url}

Ctrl-C stops it.`)
