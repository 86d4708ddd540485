import { afterEach, expect, test } from 'vitest'
import { checking, faultsOf, namesOf } from './checking.ts'
import { listen, SmallServer } from './small-server.ts'

let close = async () => {}
afterEach(() => close())

test('a small server that keeps to the protocol, with all extensions but one, holds', async () => {
  const listening = await listen(new SmallServer())
  close = listening.close
  const report = await checking(listening.url)
  expect(faultsOf(report)).toEqual([])
  expect(namesOf(report, 'untested')).toEqual([])
  expect(report.leftOut.map(({ part }) => part)).toEqual(['restores in features'])
  expect(report.outcome).toBe('held')
  expect(report.removal.left).toEqual([])
  expect(report.removal.made).toBeGreaterThan(100)
})
