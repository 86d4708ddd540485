import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import type { Shell } from '../../src/cli/shell.ts'
import type { Report } from '../../src/conformance/report.ts'
import { called } from '../cli/command-line.ts'
import { listen, pause, SmallServer } from './small-server.ts'

const all = [
  '--token=token-of-ada',
  '--other-token=token-of-ben',
  '--expired-token=late',
  '--insert={"t":"Issue","p":{"title":"x"}}',
  '--change={"title":"y"}',
]

let server: SmallServer
let url: string
let close: () => Promise<void>
let folder: string

const start = async (spoiled = new SmallServer(), options = {}) => {
  await close?.()
  server = spoiled
  const listening = await listen(server, options)
  url = listening.url
  close = listening.close
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'instep-conformance-'))
  await start()
})
afterEach(async () => {
  await close()
  rmSync(folder, { recursive: true })
})

const conformance = (...args: readonly string[]) => called(['conformance', url, ...args])
const reportOf = ({ stdout }: { readonly stdout: string }): Report => JSON.parse(stdout)

describe('the exit code', () => {
  test('is 0 if all that the server offers holds', async () => {
    const { code, stdout } = await conformance(...all, '--only=delta')
    expect(code).toBe(0)
    expect(stdout).toMatch(/All 11 checks hold/)
  })

  test('is 1 if something does not hold', async () => {
    const right = server.sinceOf.bind(server)
    server.sinceOf = (query) => right(query) ?? 0
    const { code, stdout, stderr } = await conformance(...all, '--only=delta')
    expect(code).toBe(1)
    expect(stderr).toMatch(/5 checks not held\.\n$/)
    expect(stdout).toMatch(/✗ A delta with a negative `since` is refused\. {2}delta\/negative-since/)
    expect(stdout).toMatch(/Request {3}GET http:.+\/sync\/v1\/delta\?since=-1\n/)
    expect(stdout).toMatch(/Answer {4}200\n/)
    expect(stdout).toMatch(/Expected {2}The status is 400\.\n/)
    expect(stdout).toMatch(/Rule {6}docs\/protocol\.md, "Delta": `since` is an integer ≥ 0, else 400\.\n/)
  })

  test('is 2 if nobody is there', async () => {
    await close()
    const { code, stdout, stderr } = await conformance(...all)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toBe(`${url} does not respond: Nobody listens at this address.\n`)
    await start()
  })

  test('is 2 if whoever is there does not respond within the time limit', async () => {
    server.answer = () => new Promise(() => {})
    const { code, stderr } = await conformance(...all, '--timeout=0.2')
    expect(code).toBe(2)
    expect(stderr).toMatch(/does not respond: There was no answer within 0\.2 s\.\n$/)
  })

  test('is 2 without a token, if what needs none holds', async () => {
    const { code, stdout, stderr } = await conformance('--only=delta')
    expect(code).toBe(2)
    expect(stdout).toMatch(/\? It needs `--token`\.\n {6}delta\/shape, delta\/at-head/)
    expect(stderr).toMatch(/Nothing could be tested; set `--token` at least\.\n$/)
  })

  test.each([
    [['--only=nothing'], /There is no check `nothing`/],
    [['--insert={'], /`--insert` must be a JSON object, not `\{`/],
    [['--insert={"p":{}}'], /`--insert` must have a type `t`/],
    [['--insert={"t":"Issue","id":7}'], /`id` of `--insert` must be a string/],
    [['--change=[]'], /`--change` must be a JSON object/],
    [['--timeout=soon'], /`--timeout` must be a number of seconds/],
    [['--junit=/nowhere/report.xml'], /The file \/nowhere\/report\.xml cannot be written/],
    [['--secret=x'], /There is no option `--secret`/],
  ])('is 2 for %j', async (args, sentence) => {
    const { code, stderr } = await conformance(...args)
    expect(code).toBe(2)
    expect(stderr).toMatch(sentence)
  })

  test.each([
    [[], /The argument <base-url> is missing/],
    [['somewhere'], /<base-url> must be an address like/],
    [['ftp://x/sync/v1'], /<base-url> must be an address like/],
    [['http://x/sync/v1?token=x'], /without a query/],
  ])('is 2 for the address %j', async (args, sentence) => {
    const { code, stderr } = await called(['conformance', ...args])
    expect(code).toBe(2)
    expect(stderr).toMatch(sentence)
  })
})

test.each([
  ['a terminal', true, {}, true],
  ['a terminal, if NO_COLOR is set', true, { NO_COLOR: '1' }, false],
  ['a file', false, {}, false],
])('on %s, the report has colours: %s', async (_, isTerminal, env, hasColors) => {
  const texts: string[] = []
  const stdout = { isTerminal, write: (text: string) => void texts.push(text) }
  const stderr = { isTerminal: false, write: () => {} }
  const shell: Shell = { env, stdout, stderr, onEnd: () => () => {}, exit: () => {} }
  await main(['conformance', url, ...all, '--only=snapshot'], shell, () => '')
  expect(texts.join('').includes('\u001b[')).toBe(hasColors)
})

test('what an option is missing for is untested, by name', async () => {
  const { code, stdout } = await conformance('--token=token-of-ada', '--json')
  expect(code).toBe(0)
  const { checks } = JSON.parse(stdout) as Report
  const reasonOf = (name: string) => checks.find((check) => check.name === name)?.reason
  expect(reasonOf('credentials/expired-delta')).toBe('It needs `--expired-token`.')
  expect(reasonOf('changes/insert')).toBe('It needs `--insert`.')
  expect(reasonOf('changes/update-merges')).toBe('It needs `--insert` and `--change`.')
  expect(reasonOf('ownership/snapshot')).toBe('It needs `--other-token` and `--insert`.')
  expect(server.rows.size).toBe(0)
})

test('`--json` prints one document on stdout, and the progress on stderr', async () => {
  const { stdout, stderr } = await conformance(...all, '--json', '--only=changes')
  const report = reportOf({ stdout })
  expect(report).toMatchObject({
    report: 'instep conformance',
    format: 1,
    url,
    outcome: 'held',
    endpoints: { tx: true, ws: true },
    counts: { held: 7, notHeld: 0, untested: 0, leftOut: 0 },
  })
  expect(report.checks.map(({ name }) => name)[0]).toBe('changes/insert')
  expect(stderr).toMatch(/^1\/7 changes\/\w+: held\n/)
})

test('`--junit` writes what a CI server reads', async () => {
  const right = server.sinceOf.bind(server)
  server.sinceOf = (query) => right(query) ?? 0
  const path = join(folder, 'report.xml')
  await conformance('--token=token-of-ada', '--only=delta', `--junit=${path}`)
  const xml = readFileSync(path, 'utf8')
  expect(xml).toMatch(/^<\?xml .+\n<testsuites tests="11" failures="5" skipped="2" time="[\d.]+">\n/)
  expect(xml).toMatch(/<testcase classname="delta" name="shape" time="[\d.]+"\/>/)
  expect(xml).toMatch(
    /<testcase classname="delta" name="negative-since" .+><failure message="The status is 400\.">/,
  )
  expect(xml).toMatch(/<skipped message="It needs `--insert`\."\/>/)
})

test('no token is in the report, nor in the progress, nor in the file', async () => {
  server.userOf = () => undefined
  const path = join(folder, 'report.xml')
  const { code, stdout, stderr } = await conformance(...all, `--junit=${path}`)
  expect(code).toBe(1)
  for (const text of [stdout, stderr, readFileSync(path, 'utf8')]) expect(text).not.toMatch(/token-of-/)
  expect(stdout).toMatch(/authorization: Bearer <token>/)
})

test('a server without `/tx` and `/ws` holds, and is told what its clients then lack', async () => {
  await start(new SmallServer(), { hasSocket: false })
  const right = server.answer.bind(server)
  server.answer = async (request, path, query) =>
    path === '/tx' && server.userOf(server.tokenOf(request, query), path)
      ? { status: 404 }
      : right(request, path, query)
  const { code, stdout } = await conformance(...all)
  expect(code).toBe(0)
  expect(stdout).toMatch(/LEFT OUT \(2\), and what the clients then lack\n/)
  expect(stdout).toMatch(/– POST \/tx +The clients only read/)
  expect(stdout).toMatch(/– GET \/ws +The clients poll/)
})

describe('what the suite has made', () => {
  test('is removed, also if the server is wrong', async () => {
    server.merged = ({ p }) => p
    const { code } = await conformance(...all, '--only=changes', '--only=payloads')
    expect(code).toBe(1)
    expect(server.rows.size).toBe(0)
  })

  test('is named if it cannot be removed', async () => {
    const right = server.apply.bind(server)
    server.apply = async (user, tx) =>
      tx.ops.some(({ op }) => op === 'd') ? { error: { code: 'forbidden' } } : right(user, tx)
    const { stdout } = await conformance(...all, '--only=changes/insert')
    expect(stdout).toMatch(
      /1 of 1 records that the suite made could not be removed\. A removal was refused: forbidden\./,
    )
    const [row] = server.rows.values()
    expect(stdout).toContain(`  Issue ${row?.id}\n`)
  })

  test('has the id that was asked for, and those after it that are free', async () => {
    server.rows.set('["Issue","issue-10"]', { t: 'Issue', id: 'issue-10', p: { userId: 'ada' } })
    const ids = new Set<string>()
    const right = server.store.bind(server)
    server.store = (key, row) => {
      if (row) ids.add(row.id)
      right(key, row)
    }
    const insert = '--insert={"t":"Issue","id":"issue-9","p":{"title":"x"}}'
    const { code } = await conformance('--token=token-of-ada', insert, '--only=transactions/sid')
    expect(code).toBe(0)
    expect([...ids]).toEqual(['issue-9', 'issue-11', 'issue-12'])
    expect([...server.rows.keys()]).toEqual(['["Issue","issue-10"]'])
  })

  test('is removed after an interruption, too', async () => {
    const texts: string[] = []
    let interrupt = () => {}
    const output = { isTerminal: false, write: (text: string) => void texts.push(text) }
    const shell: Shell = {
      env: {},
      stdout: output,
      stderr: output,
      onEnd(listener) {
        interrupt = listener
        return () => {}
      },
      exit: () => {},
    }
    const running = main(['conformance', url, ...all, '--only=order', '--only=payloads'], shell, () => '')
    while (server.rows.size < 30) await pause(2)
    interrupt()
    expect(await running).toBe(1)
    expect(texts.join('')).toMatch(/Interrupted after \d+ held/)
    expect(texts.at(-1)).toBe('The run was interrupted; all of its records are removed.\n')
    await pause(100)
    expect(server.rows.size).toBe(0)
  })
})

test('what other people write meanwhile does not disturb', async () => {
  let isWriting = true
  const write = async (user: string) => {
    for (let n = 0; isWriting; n += 1) {
      const id = `${user}-${n % 20}`
      const op =
        n % 7 === 6
          ? { op: 'd' as const, t: 'Issue', id }
          : { op: 'i' as const, t: 'Issue', id, p: { n }, put: true }
      await server.decide(user, { id: `${user} ${n}`, since: 0, ops: [op] })
      await pause(3)
    }
  }
  const writing = [write('ada'), write('ben'), write('cyd')]
  const { code, stdout } = await conformance(...all)
  isWriting = false
  await Promise.all(writing)
  expect(stdout).toMatch(/All \d+ checks hold/)
  expect(code).toBe(0)
})
