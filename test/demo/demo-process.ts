import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const path = (file: string) => fileURLToPath(new URL(`../../examples/demo/${file}`, import.meta.url))

/** What a command of the demo printed, and its exit code. */
export interface Ended {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** Runs one of the demo's commands to its end. */
export async function run(file: string, ...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [path(file), ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  if (child.exitCode === null) await once(child, 'exit')
  return { code: child.exitCode, output, errors }
}

export interface Demo {
  readonly url: string
  /** Presses Ctrl-C; resolves with the exit code. */
  stop(): Promise<number | null>
}

/** Starts the demo on a free port with `args`, and resolves once it has printed its address. */
export async function startDemo(...args: readonly string[]): Promise<Demo> {
  const child = spawn(process.execPath, [path('start.mjs'), '--port', '0', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  return {
    url: await addressFrom(child),
    async stop() {
      child.kill('SIGINT')
      if (child.exitCode === null) await once(child, 'exit')
      return child.exitCode
    },
  }
}

async function addressFrom(child: ChildProcess): Promise<string> {
  let output = ''
  for await (const chunk of child.stdout ?? []) {
    output += chunk
    const [, url] = /^ *Open (http:\S+)$/m.exec(output) ?? []
    if (url) {
      child.stdout?.resume()
      return url
    }
  }
  throw new Error(`The demo did not start: ${output}`)
}
