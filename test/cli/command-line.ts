import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import manifest from '../../package.json' with { type: 'json' }
import { Deferred } from '../../src/base/deferred.ts'
import { main } from '../../src/cli/main.ts'
import type { Output, Shell } from '../../src/cli/shell.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

const addressLine = /^listening on (http:\S+)\n/

export const secret = 'a secret that is long enough to sign with'

/** What a command printed, and its exit code. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs `instep` with `args` to its end; what it prints is given, or goes to `out`, a file that is open. */
export async function instep(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  out: number | 'pipe' = 'pipe',
): Promise<Ended> {
  const child = await start(args, env, out)
  const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)])
  return { code: await exitOf(child), stdout, stderr }
}

/** The same without a process of its own, which says nothing more of a command that ends by itself and takes longer. */
export async function called(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const [out, err]: [string[], string[]] = [[], []]
  const outputTo = (texts: string[]): Output => ({
    isTerminal: false,
    write: (text) => void texts.push(text),
  })
  const shell = { env, stdout: outputTo(out), stderr: outputTo(err), onEnd: () => () => {}, exit: () => {} }
  const code = await main(args, shell, () => manifest.version)
  return { code, stdout: out.join(''), stderr: err.join('') }
}

export interface Serving {
  /** The base address for a client. */
  readonly url: string
  /** What it has printed on stdout so far. */
  readonly printed: () => string
  /** What it has told on stderr so far. */
  readonly told: () => string
  /** Sends it a signal; resolves with its exit code, `null` where the signal itself has ended it. */
  end(signal?: NodeJS.Signals): Promise<number | null>
  signal(signal: NodeJS.Signals): void
}

/** Runs `instep serve` on a free port; resolves once it has printed its address. */
export function startServing(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Serving> {
  return startCommand(['serve', '--port', '0', ...args], { INSTEP_JWT_SECRET: secret, ...env })
}

/** The same without a process of its own, as far as what it serves is concerned; it is ended as if by a signal. */
export async function servingHere(args: readonly string[], env: NodeJS.ProcessEnv = {}, port = '0') {
  const [out, err]: [string[], string[]] = [[], []]
  const listening = new Deferred<string>()
  let tellToEnd = () => {}
  const shell: Shell = {
    env: { INSTEP_JWT_SECRET: secret, ...env },
    stdout: {
      isTerminal: false,
      write(text) {
        out.push(text)
        const [, url] = addressLine.exec(out.join('')) ?? []
        if (url) listening.resolve(url)
      },
    },
    stderr: { isTerminal: false, write: (text) => void err.push(text) },
    onEnd(listener) {
      tellToEnd = listener
      return () => {}
    },
    exit: () => {},
  }
  const ended = main(['serve', '--port', port, ...args], shell, () => manifest.version)
  const code = ended.then(() => {
    throw new Error(`It did not start: ${err.join('')}`)
  })
  const url = await Promise.race([listening.promise, code])
  code.catch(() => {})
  return {
    url,
    told: () => err.join(''),
    end() {
      tellToEnd()
      return ended
    },
  }
}

/** Runs a command that serves until it is told to end; resolves once it has printed its address. */
export async function startCommand(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Serving> {
  const child = await start(args, env)
  let told = ''
  child.stderr?.on('data', (chunk) => {
    told += chunk
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  let printed = ''
  child.stdout?.on('data', (chunk) => {
    printed += chunk
  })
  return {
    url: await addressFrom(child, () => printed + told),
    printed: () => printed,
    told: () => told,
    end(signal = 'SIGTERM') {
      child.kill(signal)
      return exitOf(child)
    },
    signal: (signal) => void child.kill(signal),
  }
}

async function addressFrom(child: ChildProcess, output: () => string): Promise<string> {
  const exit = new AbortController()
  child.once('exit', () => exit.abort())
  for (;;) {
    const [, url] = addressLine.exec(output()) ?? []
    if (url) return url
    if (exit.signal.aborted || !child.stdout) throw new Error(`It did not start: ${output()}`)
    await once(child.stdout, 'data', exit).catch(() => {})
  }
}

export async function start(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  out: number | 'pipe' = 'pipe',
): Promise<ChildProcess> {
  const { PATH, HOME } = process.env
  return spawn(process.execPath, [await bundled(), ...args], {
    env: { PATH, HOME, ...env },
    stdio: ['ignore', out, 'pipe'],
  })
}

export async function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return child.exitCode
}

export function textOf(stream: ChildProcess['stdout']): Promise<string> | string {
  return stream ? text(stream) : ''
}

let bundle: Promise<string> | undefined

/** Node 20 reads no TypeScript by itself. What is built lies where the packages are found from. */
function bundled(): Promise<string> {
  bundle ??= makeBundle()
  return bundle
}

async function makeBundle(): Promise<string> {
  const cache = join(root, 'node_modules', '.cache', 'instep-cli')
  const folder = join(cache, String(process.pid))
  mkdirSync(folder, { recursive: true })
  // A worker is ended without a word, so the next one tidies up.
  for (const pid of readdirSync(cache)) {
    if (!isRunning(Number(pid))) rmSync(join(cache, pid), { recursive: true, force: true })
  }
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
  // From here the package is found that it is part of, with what that brings: else each folder is made from nothing.
  const seed = 'dist/pglite-tables.tar.br'
  mkdirSync(join(folder, 'dist'), { recursive: true })
  if (existsSync(join(root, seed))) copyFileSync(join(root, seed), join(folder, seed))
  const outfile = join(folder, 'dist', 'cli', 'index.mjs')
  await build({
    entryPoints: [join(root, 'src/cli/index.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    alias: { '#websocket': join(root, 'src/base/websocket.node.ts') },
    logLevel: 'error',
  })
  return outfile
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
