import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findChromium } from '../setup/find-browsers.mjs'
import { blocksOf, readDocuments, root } from './documents.ts'

const secret = 'a secret of at least 32 bytes, so that it is long enough'

/** The files of the document: the blocks of each name, one after the other. */
function filesShown(): ReadonlyMap<string, string> {
  const document = readDocuments().find(({ path }) => path === 'docs/first-steps.md')
  if (!document) throw new Error('The document is missing.')
  const files = new Map<string, string>()
  for (const { label, lines } of blocksOf(document)) {
    if (label) files.set(label, `${files.get(label) ?? ''}${lines.join('\n')}\n`)
  }
  return files
}

let folder: string
let page: string
let token: string
let server: ChildProcess
let vite: ChildProcess
let browser: Browser
const failures: string[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'instep-first-steps-'))
  await mkdir(join(folder, 'node_modules'))
  await symlink(root, join(folder, 'node_modules/instep'))
  for (const name of ['vite', 'vitest']) {
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
  const port = await freePort()
  for (const [name, text] of filesShown()) {
    await writeFile(join(folder, name), text.replaceAll('8080', String(port)))
  }
  token = await tokenOf('ada')
  server = await startServer()
  const vitePort = await freePort()
  page = `http://localhost:${vitePort}/`
  vite = await start([join(root, 'node_modules/vite/bin/vite.js'), '--port', String(vitePort)], 'localhost')
  browser = await chromium.launch({ executablePath: findChromium() ?? '', args: ['--no-sandbox'] })
})

afterAll(async () => {
  await browser?.close()
  await end(vite)
  await end(server)
  await rm(folder, { recursive: true })
})

/** Runs Node in the folder, and resolves when the process has printed `text`. */
async function start(args: readonly string[], text: string): Promise<ChildProcess> {
  const env = { ...process.env, INSTEP_JWT_SECRET: secret, VITE_TOKEN: token, NO_COLOR: '1' }
  const child = spawn(process.execPath, args, { cwd: folder, env })
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const onData = (data: Buffer) => {
      output += data
      if (output.includes(text)) resolve()
    }
    child.stdout.on('data', onData)
    child.stderr.on('data', onData)
    child.once('exit', (code) => reject(new Error(`${args.join(' ')} ended with ${code}: ${output}`)))
  })
  return child
}

const startServer = () => start(['server.mjs'], 'Listening on')

async function end(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill()
  await ended
}

async function tokenOf(user: string): Promise<string> {
  const args = [join(root, 'dist/cli/index.js'), 'token', '--user', user]
  const child = spawn(process.execPath, args, { env: { ...process.env, INSTEP_JWT_SECRET: secret } })
  let output = ''
  child.stdout.on('data', (data) => {
    output += data
  })
  await new Promise((resolve) => child.once('close', resolve))
  return output.trim()
}

function freePort(): Promise<number> {
  const probe = createServer()
  return new Promise((resolve) =>
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0))
    }),
  )
}

/** Opens the page in a browser of its own. */
async function open(): Promise<Page> {
  const opened = await (await browser.newContext()).newPage()
  opened.on('pageerror', ({ message }) => failures.push(message))
  await opened.goto(page)
  return opened
}

async function add(page: Page, title: string): Promise<void> {
  await page.getByLabel('Title').fill(title)
  await page.getByRole('button', { name: 'Add' }).click()
}

const tasksIn = (page: Page) => page.getByRole('listitem').allTextContents()

test('the first steps lead to two browsers in step, a refusal, an undo and a sign-out', async () => {
  const one = await open()
  const other = await open()
  await expect.poll(() => one.evaluate(() => document.readyState)).toBe('complete')
  await add(one, 'Tar the boat')
  await expect.poll(() => tasksIn(other), { timeout: 30_000 }).toEqual(['Tar the boat'])

  await end(server)
  await add(one, 'Mend the cable')
  await one.reload()
  await expect.poll(() => tasksIn(one), { timeout: 30_000 }).toEqual(['Mend the cable', 'Tar the boat'])
  server = await startServer()
  await expect.poll(() => tasksIn(other), { timeout: 30_000 }).toEqual(['Mend the cable', 'Tar the boat'])

  await add(one, 'Sail')
  await expect
    .poll(() => one.getByRole('alert').textContent(), { timeout: 30_000 })
    .toBe('Add “Sail” was refused. Somebody else sails already.')
  expect(await tasksIn(one)).toEqual(['Mend the cable', 'Tar the boat'])

  await add(one, 'Count the nets')
  await expect.poll(() => tasksIn(other), { timeout: 30_000 }).toContain('Count the nets')
  await one.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(() => tasksIn(other), { timeout: 30_000 }).not.toContain('Count the nets')

  await one.getByRole('button', { name: 'Sign out' }).click()
  await expect.poll(() => one.locator('body').textContent(), { timeout: 30_000 }).toBe('You are signed out.')
  expect(failures).toEqual([])
}, 240_000)

test('the test of the first steps passes', async () => {
  const runner = join(root, 'node_modules/vitest/vitest.mjs')
  await end(await start([runner, 'run', '--root', folder], '1 passed'))
}, 120_000)
