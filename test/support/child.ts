import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A process of Node's that runs a TypeScript file of the tests, and says each thing on a line of its own, as JSON. */
export interface Child<Said> {
  /** What it says next; rejects where it ends instead. */
  next(): Promise<Said>
  /** Asks it for more: it gets a line. */
  say(text: string): void
  /** Ends it at once, as `kill -9` does. */
  kill(): Promise<void>
}

/** Runs `file`, a path from the project's root, in a process of its own. */
export async function runChild<Said>(file: string, args: readonly string[]): Promise<Child<Said>> {
  const child = spawn(process.execPath, [await bundle(file), ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
  const lines: string[] = []
  let wake = () => {}
  let rest = ''
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  child.stdout.on('data', (chunk) => {
    const parts = `${rest}${chunk}`.split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
    wake()
  })
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => {
      resolve()
      wake()
    })
  })
  return {
    async next() {
      for (;;) {
        const line = lines.shift()
        if (line !== undefined) return JSON.parse(line)
        if (isOver(child)) throw new Error(`${file} has ended: ${errors}`)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    say: (text) => child.stdin.write(`${text}\n`),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

function isOver({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

const bundles = new Map<string, Promise<string>>()

/** Node 20 reads no TypeScript by itself. What is bundled lies where the packages are found from. */
function bundle(file: string): Promise<string> {
  const known = bundles.get(file)
  if (known) return known
  const folder = join(root, 'node_modules', '.cache', `instep-test-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const outfile = join(folder, basename(file).replace(/\.ts$/, '.mjs'))
  const made = build({
    entryPoints: [join(root, file)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    alias: { '#websocket': join(root, 'src/base/websocket.node.ts') },
    logLevel: 'error',
  }).then(() => outfile)
  bundles.set(file, made)
  return made
}
