import { readArguments } from '../arguments.mjs'
import { start } from './server.mjs'

const usage = 'Usage: npm run teams -- [folder] [--port <number>]'
const app = await start(readArguments({ usage, port: 4400 }))
process.once('SIGINT', () => app.close())
process.once('SIGTERM', () => app.close())
console.log(`Open ${app.url}

Ctrl-C stops it.`)
