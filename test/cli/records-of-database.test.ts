import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSyncService } from '../../src/server/index.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { called } from './command-line.ts'

const postgres = ownPostgres()
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'instep-get-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('commands for the records of a database', () => {
  let database = ''
  const run = (...args: string[]) => called([...args, '--database', database])

  beforeAll(async () => {
    database = await postgres.database('records')
    const service = createSyncService({ database, ownerField: 'userId', authenticate: async () => null })
    await service.write([
      { op: 'i', t: 'Issue', id: 'i1', p: { userId: 'ada', title: 'Cable cut', size: 1 } },
      { op: 'i', t: 'Issue', id: '-2', p: { userId: 'bob', title: 'Rust', size: 3 } },
      { op: 'i', t: 'Issue', id: 'i3', p: { userId: 'ada', title: 'Leak', size: 2 } },
      { op: 'i', t: 'Note', id: 'n1', p: { userId: 'ada', text: 'Ask Bob.' } },
    ])
    await service.close()
  })

  test('`get` prints a record as JSON with its id', async () => {
    const { code, stdout } = await run('get', 'Issue', 'i1')
    expect(code).toBe(0)
    expect(stdout.endsWith('}\n')).toBe(true)
    expect(JSON.parse(stdout)).toEqual({ id: 'i1', userId: 'ada', title: 'Cable cut', size: 1 })
    expect((await called(['get', '--database', database, 'Issue', '--', '-2'])).stdout).toContain('Rust')
    expect(await run('get', 'Issue', 'i9')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'There is no Issue with the id i9.\n',
    })
  })

  test('`list` prints a record per line, by owner, conditions, limit and id to start after', async () => {
    const idsOf = async (...args: string[]) => {
      const { stdout } = await run('list', ...args)
      return stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line).id)
    }
    expect(await idsOf('Issue')).toEqual(['-2', 'i1', 'i3'])
    expect(await idsOf('Issue', '--owner', 'ada', '--limit', '1')).toEqual(['i1'])
    expect(await idsOf('Issue', '--after', 'i1', '--where', '{"size":{"gt":1}}')).toEqual(['i3'])
    expect(await run('list', 'Task')).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  test('`delete` deletes one record, or all of an owner after a confirmation', async () => {
    expect(await run('delete', 'Issue', 'i1')).toEqual({ code: 0, stdout: '1 record deleted.\n', stderr: '' })
    expect(await run('delete', 'Issue', 'i1')).toMatchObject({
      code: 1,
      stderr: 'There is no Issue with the id i1.\n',
    })
    expect(await run('delete', '--owner', 'ada')).toMatchObject({ code: 2 })
    expect((await run('list', 'Note')).stdout).not.toBe('')
    expect(await run('delete', '--owner', 'ada', '--all')).toMatchObject({
      code: 0,
      stdout: '2 records deleted.\n',
    })
    expect((await run('list', 'Note')).stdout).toBe('')
    expect((await run('list', 'Issue')).stdout).toContain('"id":"-2"')
  })
})

test.each<[string, string[], RegExp]>([
  ['no id', ['get', 'Issue'], /The argument <id> is missing/],
  ['no type', ['list'], /The argument <type> is missing/],
  ['too many arguments', ['get', 'Issue', 'i1', 'i2'], /`i2` is not expected/],
  [
    'conditions that are not JSON',
    ['list', 'Issue', '--where', 'status=open'],
    /`--where` must be a JSON object/,
  ],
  ['a record and an owner', ['delete', 'Issue', 'i1', '--owner', 'ada'], /but not both/],
  ['`--all` without an owner', ['delete', '--all'], /`--all` needs `--owner`/],
])('%s exits with 2, and opens nothing', async (_, args, message) => {
  const { code, stdout, stderr } = await called([...args, '--database', join(folder, 'nowhere')])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(message)
})

test('an owner in the environment deletes nothing', async () => {
  const args = ['delete', '--all', '--database', join(folder, 'nowhere')]
  expect(await called(args, { INSTEP_OWNER: 'ada' })).toMatchObject({ code: 2 })
})

test('a missing database is not created', async () => {
  for (const args of [
    ['get', 'Issue', 'i1'],
    ['list', 'Issue'],
    ['delete', 'Issue', 'i1'],
  ]) {
    const { code, stderr } = await called([...args, '--database', join(folder, 'nowhere')])
    expect(code).toBe(1)
    expect(stderr).toContain('has no database')
  }
})
