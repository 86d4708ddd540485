#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { argv } from 'node:process'
import { main } from './main.ts'
import { nodeShell } from './shell.ts'

/** From the package that this file is built into. */
function version(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
}

void main(argv.slice(2), nodeShell, version).then(nodeShell.exit)
