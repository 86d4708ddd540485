import type { ChildProcess } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { WireRow } from '../../src/protocol/row.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { called, exitOf, instep, secret, start, startServing, textOf } from './command-line.ts'

const postgres = ownPostgres()
let folder: string
let database: string
let databases = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'instep-import-'))
})

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
})

beforeEach(async () => {
  databases += 1
  database = await postgres.database(`import${databases}`)
})

const file = (name: string, text: string) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const argumentsFor = (path: string) => ['import', path, '--database', database, '--type', 'Issue']

const importing = (path: string, ...options: readonly string[]) => called([...argumentsFor(path), ...options])

async function rowsOf(owner: string): Promise<readonly WireRow[]> {
  const log = await openSqlLog(database)
  const texts: string[] = []
  for await (const batch of (await log.snapshot([owner])).batches) texts.push(batch)
  await log.close()
  return JSON.parse(`[${texts.join()}]`)
}

test.each([
  [
    'records.json',
    '[{"id":"i1","userId":"ann","n":1.5,"done":true},\n{"id":"i2","userId":"ann","title":"ü, \\"x\\""}]',
  ],
  [
    'records.ndjson',
    '\ufeff{"id":"i1","userId":"ann","n":1.5,"done":true}\r\n\n{"id":"i2","userId":"ann","title":"ü, \\"x\\""}',
  ],
  ['records.csv', 'id,userId,n:number,done:boolean,title\r\ni1,ann,1.5,true,\r\n"i2",ann,,,"ü, ""x"""\r\n'],
])('%s becomes records of their owner', async (name, text) => {
  expect(await importing(file(name, text))).toEqual({
    code: 0,
    stdout: '2 records written; the database is at 2.\n',
    stderr: '',
  })
  const counted = "select reltuples::int as count from pg_class where relname = 'instep_record'"
  expect(await postgres.run(`import${databases}`, counted)).toEqual([{ count: 2 }])
  expect(await rowsOf('ann')).toEqual([
    { t: 'Issue', id: 'i1', v: 1, p: { userId: 'ann', n: 1.5, done: true } },
    { t: 'Issue', id: 'i2', v: 2, p: { userId: 'ann', title: 'ü, "x"' } },
  ])
})

test('records imported with one owner field are neither added to nor served with another', async () => {
  const path = file('owned.ndjson', '{"id":"i1","organizationId":"acme"}')
  expect((await importing(path, '--owner-field', 'organizationId')).code).toBe(0)
  const failed = {
    code: 1,
    stdout: '',
    stderr:
      "`ownerField` is 'userId', but the records of this database name their owner in 'organizationId'; set `ownerField` to that field, or use another database.\n",
  }
  expect(await importing(file('other.ndjson', '{"id":"i2","userId":"acme"}'))).toEqual(failed)
  const env = { INSTEP_JWT_SECRET: secret }
  expect(await called(['serve', '--port', '0', '--database', database], env)).toEqual(failed)
  expect(await rowsOf('acme')).toHaveLength(1)
})

test('options set the owner and the id field for all records', async () => {
  const path = file('keys.txt', '{"key":7,"title":"x","id":"of another kind"}')
  const options = [
    '--owner',
    'acme',
    '--owner-field',
    'organizationId',
    '--id-field',
    'key',
    '--format',
    'ndjson',
  ]
  expect((await importing(path, ...options)).code).toBe(0)
  const p = { key: 7, title: 'x', id: 'of another kind', organizationId: 'acme' }
  expect(await rowsOf('acme')).toEqual([{ t: 'Issue', id: '7', v: 1, p }])
})

test('each faulty line is reported with its number, and nothing is written', async () => {
  const good = '{"id":"good","userId":"ann"}'
  const lines = [
    good,
    '{]',
    '5',
    '{"userId":"ann"}',
    '{"id":"x"}',
    '{"id":"x","userId":"ann","__proto__":1}',
    `{"id":"y","userId":"${'o'.repeat(256)}"}`,
    '{"id":"z","userId":"__proto__"}',
    good,
  ]
  expect(await importing(file('wrong.ndjson', lines.join('\n')))).toEqual({
    code: 1,
    stdout: '',
    stderr: [
      'Line 2: the record is not JSON.',
      'Line 3: the record is not a JSON object.',
      'Line 4: the record has no id in its field id.',
      'Line 5: the record has no owner in its field userId.',
      'Line 6: the record has a field with a name that no record can have, such as `__proto__`.',
      'Line 7: the record has an owner in its field userId that is longer than 255 characters or cannot be stored.',
      'Line 8: the record has an owner in its field userId that is longer than 255 characters or cannot be stored.',
      'Line 9: the record has the same id as the record on line 1.',
      'Nothing was written: 8 records are wrong.',
      '',
    ].join('\n'),
  })
  expect((await importing(file('many.ndjson', '{]\n'.repeat(30)))).stderr).toContain(
    'Line 20: the record is not JSON.\nNothing was written: 30 records are wrong, of which the first 20 are shown.',
  )
  expect((await called(['status', '--database', database])).stderr).toContain('it has no tables of Instep')
})

test('a duplicate id is reported before anything is written, unless `--replace` is set', async () => {
  const lines = Array.from({ length: 1_500 }, (_, n) => `{"id":"i${n % 1_400}","userId":"ann","n":${n}}`)
  const path = file('twice.ndjson', lines.join('\n'))
  expect(await importing(path)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^Line 1401: the record has the same id as the record on line 1\.\n.*\nNothing was written: 100 /s,
    ),
  })
  expect((await called(['status', '--database', database])).stderr).toContain('it has no tables of Instep')
  expect((await importing(path, '--replace')).stdout).toBe('1500 records written; the database is at 1500.\n')
  expect((await rowsOf('ann')).find(({ id }) => id === 'i0')?.p).toMatchObject({ n: 1_400 })
})

test.each([
  ['JSON that is not an array', 'x.json', '{"a":1}', 'one JSON array of records; line 1 breaks it'],
  [
    'an array that ends early',
    'x.json',
    '[\n{"id":"1","userId":"ann"},',
    'one JSON array of records; line 2 breaks it',
  ],
  ['a column without a name', 'x.csv', 'id,,userId\n', 'name each column'],
  ['an empty CSV file', 'x.csv', '', 'name each column'],
  ['a column that is named twice', 'x.csv', 'id,userId,n,n\n1,ann,1,2', 'Line 1 names the column n twice.'],
  [
    'a column of an unknown kind',
    'x.csv',
    'id,userId,done:bool\n1,ann,true',
    'Line 1 sets the kind of the column done to bool',
  ],
  ['a short row', 'x.csv', 'id,userId\n1', 'Line 2: the record has 1 cells, but line 1 names 2 columns.'],
  [
    'a cell of another kind',
    'x.csv',
    'id,userId,n:number\n1,ann,two',
    'a cell in the column n that is not of the kind number',
  ],
  [
    'a CSV number beyond 2^53',
    'x.csv',
    'id,userId,n:number\n1,ann,1\n2,ann,9007199254740993\n',
    'Line 3: the record has a whole number beyond 2^53, which would be rounded; write it as text.',
  ],
  [
    'a JSON number beyond 2^53',
    'x.ndjson',
    '{"id":"1","userId":"ann","text":"9007199254740993"}\n{"id":"2","userId":"ann","n":[-9007199254740993]}',
    'Line 2: the record has a whole number beyond 2^53, which would be rounded; write it as text.',
  ],
  [
    'a CSV file with semicolons',
    'x.csv',
    'id;userId\n1;ann\n',
    'Line 1 separates its names by semicolons; a CSV file separates cells by commas.',
  ],
  [
    'a CSV file with tabs',
    'x.csv',
    'id\tuserId\n1\tann\n',
    'Line 1 separates its names by tabs; a CSV file separates cells by commas.',
  ],
  ['bytes that are not UTF-8', 'x.csv', Buffer.from([0x69, 0x64, 0xff]).toString('latin1'), undefined],
])('%s is refused', async (_, name, text, sentence) => {
  const path = join(folder, name)
  writeFileSync(path, text, sentence === undefined ? 'latin1' : 'utf8')
  const { code, stderr } = await importing(path)
  expect(code).toBe(1)
  expect(stderr).toContain(sentence ?? 'is not in UTF-8')
})

test('a record that is too long for clients is reported with its line', async () => {
  const path = file('long.ndjson', `{"id":"1","userId":"ann","text":"${'x'.repeat(1_100_000)}"}`)
  const { code, stderr } = await importing(path)
  expect([code, stderr.split('\n')[0]]).toEqual([1, 'Line 1: the record is longer than 1048576 bytes.'])
  expect((await importing(path, '--max-record-bytes', '2000000')).code).toBe(0)
})

test.each<[name: string, head: string, between: string, end: string]>([
  ['large.json', '[', ',', ']'],
  ['large.ndjson', '', '\n', '\n'],
  ['large.csv', 'id,userId,text\n', '\n', '\n'],
])(
  '%s may be larger than the memory',
  async (name, head, between, end) => {
    const text = 'x'.repeat(10_000)
    const isCsv = name.endsWith('.csv')
    const record = (n: number, owner = 'ann') =>
      isCsv
        ? `i${n},${owner},${text}`
        : JSON.stringify({ id: `i${n}`, ...(owner && { userId: owner }), text })
    const path = file(name, head)
    for (let start = 0; start < 3_000; start += 1_000) {
      const records = Array.from({ length: 1_000 }, (_, n) => record(start + n))
      appendFileSync(path, `${records.join(between)}${between}`)
    }
    appendFileSync(path, `${record(3_000, '')}${end}`)
    const { code, stderr } = await instep(argumentsFor(path), { NODE_OPTIONS: '--max-old-space-size=24' })
    rmSync(path)
    expect(code).toBe(1)
    expect(stderr).toContain('has no owner in its field userId.\nNothing was written: 1 record is wrong.')
  },
  60_000,
)

test('long records are written in smaller batches, so that they need no more memory', async () => {
  const path = file('long.ndjson', '')
  const text = 'x'.repeat(600_000)
  for (let n = 0; n < 40; n += 1)
    appendFileSync(path, `${JSON.stringify({ id: `i${n}`, userId: 'ann', text })}\n`)
  const ended = await instep(argumentsFor(path), { NODE_OPTIONS: '--max-old-space-size=64' })
  rmSync(path)
  expect(ended).toEqual({ code: 0, stdout: '40 records written; the database is at 40.\n', stderr: '' })
})

test('a path that is not a file is refused', async () => {
  const { code, stderr } = await importing(folder, '--format', 'csv')
  expect([code, stderr]).toEqual([1, `${folder} is not a file; name a file that contains the records.\n`])
})

test('existing records are kept, unless `--replace` is set', async () => {
  await importing(file('old.ndjson', '{"id":"i1","userId":"ann","old":true}'))
  const path = file('new.ndjson', '{"id":"i1","userId":"ann"}')
  const { code, stderr } = await importing(path)
  expect(code).toBe(1)
  expect(stderr).toBe(
    'Line 1: The Issue i1 already exists. Before that, 0 records were written. To continue, run it again with `--replace`.\n',
  )
  expect((await importing(path, '--replace')).stdout).toBe('1 record written; the database is at 2.\n')
  expect(await rowsOf('ann')).toEqual([{ t: 'Issue', id: 'i1', v: 2, p: { userId: 'ann' } }])
})

describe('an interrupted import says how many records were written, and continues when it is repeated', () => {
  const stopped = async (stop: (child: ChildProcess) => unknown) => {
    const lines = Array.from({ length: 12_000 }, (_, n) => `{"id":"i${n}","userId":"ann"}`)
    const path = file('halfway.ndjson', lines.join('\n'))
    const child = await start(argumentsFor(path))
    const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)]
    const written = () =>
      postgres.run(`import${databases}`, 'select from instep_record limit 1').catch(() => [])
    await expect.poll(written, { timeout: 20_000, interval: 20 }).toHaveLength(1)
    await stop(child)
    expect([await exitOf(child), await stdout]).toEqual([1, ''])
    return stderr
  }
  const end = / Before that, (\d+) records were written\. To continue, run it again with `--replace`\.\n$/

  test('at a signal', async () => {
    const told = await stopped((child) => child.kill('SIGINT'))
    expect(told).toMatch(/^The import was interrupted\. /)
    const [, count = ''] = end.exec(told) ?? []
    expect(await rowsOf('ann')).toHaveLength(Number(count))
    const again = await importing(join(folder, 'halfway.ndjson'), '--replace')
    expect(again.stdout).toMatch(/^12000 records written/)
    expect(await rowsOf('ann')).toHaveLength(12_000)
  }, 60_000)

  test('without its database', async () => {
    const told = await stopped(() =>
      postgres.run('postgres', `drop database import${databases} with (force)`),
    )
    expect(told).toMatch(/^The PostgreSQL database at .+ cannot be used: [^\n]+$/m)
    expect(told).toMatch(end)
  }, 60_000)
})

test('`epoch --new` refuses a database without tables of Instep, and creates none', async () => {
  const { code, stdout, stderr } = await called(['epoch', '--new', '--database', database])
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^The PostgreSQL database at .+ cannot be used: it has no tables of Instep\.\n$/)
  expect(
    await postgres.run(`import${databases}`, 'select from pg_class where relname ~ $$^instep$$'),
  ).toEqual([])
})

describe('with a database in use', () => {
  test('`status` counts the records, and `epoch --new` closes the sockets of a running service', async () => {
    const rows = Array.from({ length: 2_500 }, (_, n) => ({
      id: `i${n}`,
      userId: n < 2_000 ? 'ann' : 'bob',
      n,
    }))
    expect((await importing(file('rows.json', JSON.stringify(rows)))).code).toBe(0)
    const status = async () => JSON.parse((await called(['status', '--json', '--database', database])).stdout)
    const before = await status()
    expect(before).toEqual({
      history: expect.any(String),
      head: 2_500,
      horizon: 0,
      records: 2_500,
      types: [{ t: 'Issue', records: 2_500, owners: 2 }],
      owners: {
        count: 2,
        largest: [
          { owner: 'ann', records: 2_000 },
          { owner: 'bob', records: 500 },
        ],
      },
    })
    const { stdout } = await called(['status', '--database', database])
    expect(stdout).toMatch(/^head {8}2500$/m)
    expect(stdout).toMatch(/^type Issue {2}2500 records of 2 owners$/m)

    const serving = await startServing(['--database', database])
    const token = (await called(['token', '--user', 'bob'], { INSTEP_JWT_SECRET: secret })).stdout.trim()
    const ask = async () => {
      const answer = await fetch(`${serving.url}/bootstrap`, {
        headers: { authorization: `Bearer ${token}` },
      })
      return answer.json()
    }
    const first = await ask()
    expect(first).toMatchObject({ sid: 2_500, count: 500 })
    expect((await called(['epoch', '--new', '--database', database])).code).toBe(0)
    expect((await ask()).epoch).not.toBe(first.epoch)
    expect((await status()).history).not.toBe(before.history)
    expect(await serving.end()).toBe(0)
  })

  test('`status` shows each type, and the ten owners with the most records', async () => {
    const owners = Array.from({ length: 12 }, (_, n) => `o${n + 10}`)
    const issues = [...owners, 'o21', 'o21', 'o15'].map((userId, n) => ({ id: `i${n}`, userId }))
    await importing(file('issues.json', JSON.stringify(issues)))
    const areas = file('areas.json', '[{"id":"a1","userId":"o10"}]')
    await called(['import', areas, '--database', database, '--type', 'Area'])
    const { stdout } = await called(['status', '--json', '--database', database])
    expect(JSON.parse(stdout)).toMatchObject({
      records: 16,
      types: [
        { t: 'Area', records: 1, owners: 1 },
        { t: 'Issue', records: 15, owners: 12 },
      ],
      owners: {
        count: 12,
        largest: [
          { owner: 'o21', records: 3 },
          { owner: 'o10', records: 2 },
          { owner: 'o15', records: 2 },
          ...['o11', 'o12', 'o13', 'o14', 'o16', 'o17', 'o18'].map((owner) => ({ owner, records: 1 })),
        ],
      },
    })
  })

  test('names from callers and files cannot control the terminal, or start a new line', async () => {
    const evil = '\u001b]0;x\u0007\u009b31m\nrecords  0'
    const path = file('evil.json', JSON.stringify([{ id: evil, userId: evil }]))
    expect((await importing(path)).code).toBe(0)
    const { stdout } = await called(['status', '--database', database])
    expect(stdout.split('\n').slice(-2)).toEqual([
      expect.stringMatching(/^owner \?.*records {2}0 +1 record$/),
      '',
    ])
    const again = await importing(path)
    expect(again.stderr).toMatch(/^Line 1: .*already exists.*\n$/)
    const deep = file('deep.json', JSON.stringify([{ id: '1', userId: 'ann', [evil]: '\0' }]))
    const { stderr } = await importing(deep)
    expect(stderr).toContain('cannot be stored')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for them
    for (const text of [stdout, again.stderr, stderr]) expect(text).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f]/)
  })

  test('a folder works like a PostgreSQL', async () => {
    database = join(folder, 'data')
    const path = file('one.csv', 'id,userId\n1,ann\n')
    expect((await importing(path)).stdout).toBe('1 record written; the database is at 1.\n')
    expect((await called(['status', '--database', database])).stdout).toMatch(/^owner ann +1 record$/m)
    const missing = await called(['status', '--database', join(folder, 'nothing')])
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has no database'),
    })
  })
})
