import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { findPython } from '../setup/find-python.mjs'

const program = fileURLToPath(new URL('../../examples/backend-python/server.py', import.meta.url))

/** The backend in Python, in a process of its own. */
export interface PythonBackend {
  readonly baseUrl: string
  readonly port: number
  /** Ends it with SIGTERM. Throws an Error if it has reported a fault. */
  stop(): Promise<void>
}

/** Starts it for the current test, with a token `token-of-USER` for each of `users`. `database`: a path. */
export async function startPythonBackend(
  database: string,
  users: readonly string[],
  port: number = 0,
): Promise<PythonBackend> {
  const python = findPython()
  if (python === undefined) throw new Error('There is no Python with aiohttp; run `npm run setup`.')
  const tokens = users.flatMap((user) => ['--token', `token-of-${user}`, user])
  const args = [
    '--port',
    String(port),
    '--database',
    database,
    '--expired-token',
    'token-of-last-year',
    ...tokens,
  ]
  const server = spawn(python, ['-B', program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => {
    server.kill('SIGKILL')
  })
  let errors = ''
  server.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const baseUrl = await Promise.race([
    readAddress(server),
    once(server, 'exit').then(() => Promise.reject(new Error(`The server did not start: ${errors}`))),
  ])
  return {
    baseUrl,
    port: Number(new URL(baseUrl).port),
    async stop() {
      const exited = once(server, 'exit')
      server.kill('SIGTERM')
      const [code] = await exited
      if (errors !== '' || code !== 0) throw new Error(`The server ended with ${code}: ${errors}`)
    },
  }
}

async function readAddress({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('The server has no output.')
  let text = ''
  for await (const chunk of stdout) {
    text += chunk
    const [, address] = /^Listening on (\S+)\n/.exec(text) ?? []
    if (address) return address
  }
  throw new Error('The server has not said where it listens.')
}
