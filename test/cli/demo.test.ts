import { spawn } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterEach, expect, test } from 'vitest'
import { instep, type Serving, startCommand } from './command-line.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const running: Serving[] = []

afterEach(async () => {
  for (const serving of running.splice(0)) await serving.end('SIGKILL')
})

const start = async () => {
  const serving = await startCommand(['demo', '--port', '0'])
  running.push(serving)
  await expect.poll(() => serving.printed()).toContain('Control-C')
  return serving
}

test('`demo` prints tokens for two users, who see their own tasks, and exits with 0 at SIGINT', async () => {
  const demo = await start()
  for (const user of ['ada', 'bob']) {
    const [, token] = new RegExp(`^${user} +(\\S+)$`, 'm').exec(demo.printed()) ?? []
    const headers = { authorization: `Bearer ${token}` }
    const { rows } = await (await fetch(`${demo.url}/bootstrap`, { headers })).json()
    expect(rows.map(({ p }: { p: { userId: string } }) => p.userId)).toEqual([user, user, user])
  }
  const [, header = '', url = ''] = /^curl -H '(\S+: .+)' (\S+)$/m.exec(demo.printed()) ?? []
  const [name = '', value = ''] = header.split(': ')
  expect((await fetch(url, { headers: { [name]: value } })).status).toBe(200)
  expect(await demo.end('SIGINT')).toBe(0)
  expect(demo.told()).toBe('')
})

test('the client code that `demo` prints shows the tasks, and adds one', async () => {
  const demo = await start()
  const [, program = ''] = /^(import [\s\S]+?)^Control-C/m.exec(demo.printed()) ?? []
  const outfile = join(root, 'node_modules', '.cache', `instep-demo-${process.pid}`, 'demo.mjs')
  mkdirSync(dirname(outfile), { recursive: true })
  await build({
    stdin: { contents: program, resolveDir: root },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['ws', 'isomorphic-ws', 'zod'],
    alias: { instep: join(root, 'src/index.ts'), '#websocket': join(root, 'src/base/websocket.node.ts') },
    logLevel: 'error',
  })
  const client = spawn(process.execPath, [outfile], { stdio: ['ignore', 'pipe', 'inherit'] })
  let shown = ''
  client.stdout.on('data', (chunk) => {
    shown += chunk
  })
  try {
    await expect.poll(() => shown).toMatch(/Added by process \d+/)
    expect(shown).toContain('Open a second client')
  } finally {
    client.kill()
    rmSync(dirname(outfile), { recursive: true, force: true })
  }
})

test('if the port is in use, `demo` exits with 1 and one sentence', async () => {
  const { url } = await start()
  const { code, stderr } = await instep(['demo', '--port', new URL(url).port])
  expect(code).toBe(1)
  expect(stderr).toMatch(/^The port \d+ of 127\.0\.0\.1 is in use; [^\n]+\.\n$/)
})
