import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A process of Node's that runs a TypeScript file of the tests, and says each thing on a line of its own, as JSON. */
export interface Child<Said> {
  /** What it says next; rejects where it ends instead. */
  next(): Promise<Said>
  /** Ends it at once, as `kill -9` does. */
  kill(): Promise<void>
}

/** Runs `file`, a path from the project's root, in a process of its own. */
export async function runChild<Said>(file: string, args: readonly string[]): Promise<Child<Said>> {
  const code = await bundle(file)
  const child = spawn(process.execPath, ['--input-type=module', '-', ...args], { cwd: root })
  child.stdin.end(code)
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

/** Node 20 reads no TypeScript by itself. It finds packages from the folder that it runs in. */
function bundle(file: string): Promise<string> {
  const known = bundles.get(file)
  if (known) return known
  const made = build({
    entryPoints: [join(root, file)],
    write: false,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    alias: { '#websocket': join(root, 'src/base/websocket.node.ts') },
    logLevel: 'error',
  }).then(({ outputFiles }) => outputFiles[0]?.text ?? '')
  bundles.set(file, made)
  return made
}
