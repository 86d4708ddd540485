import { afterEach, expect, test } from 'vitest'
import { checking, faultsOf, namesOf } from './checking.ts'
import { listen, SmallServer } from './small-server.ts'
import { wrongServers } from './wrong-servers.ts'

let close = async () => {}
afterEach(() => close())

test.each(wrongServers)('a server that $title is found', async ({ finds, only, spoil }) => {
  const server = new SmallServer()
  spoil(server)
  const listening = await listen(server)
  close = listening.close
  const subjects = only ?? [...new Set(finds.map((name) => name.split('/')[0] ?? ''))]
  const report = await checking(listening.url, subjects, { timeoutMs: 20_000 })
  const ran = new Set(report.checks.map(({ name }) => name))
  const found = namesOf(report, 'not-held')
  expect(new Set(found), faultsOf(report).join('\n')).toEqual(new Set(finds.filter((name) => ran.has(name))))
  expect(found.length).toBeGreaterThan(0)
  expect(report.outcome).toBe('not-held')
})
