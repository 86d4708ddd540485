#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { argv } from 'node:process'
import { main } from './main.ts'
import { nodeShell } from './shell.ts'

/** The version in the manifest of the package that contains this file. */
function version(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
}

void main(argv.slice(2), nodeShell, version).then(nodeShell.exit)
