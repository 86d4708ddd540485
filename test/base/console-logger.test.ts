import { afterEach, expect, test, vi } from 'vitest'
import { consoleLogger } from '../../src/index.ts'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

/** What `logger` writes to the console, by level. */
function written(logger = consoleLogger()) {
  const lines: string[] = []
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    vi.spyOn(console, level).mockImplementation((message) => lines.push(message))
    logger[level](level)
  }
  return lines
}

test('warnings and errors go to the console, and nothing else', () => {
  expect(written()).toEqual(['instep: warn', 'instep: error'])
})

test('a logger of the level `debug` writes everything', () => {
  expect(written(consoleLogger('debug'))).toHaveLength(4)
})

test('INSTEP_LOG=debug switches the debug log on in Node, also later', () => {
  const logger = consoleLogger()
  expect(written(logger)).toHaveLength(2)
  vi.stubEnv('INSTEP_LOG', 'debug')
  expect(written(logger)).toHaveLength(4)
})

test('localStorage.instep switches the debug log on in a page', () => {
  vi.stubGlobal('process', undefined)
  vi.stubGlobal('localStorage', { instep: 'debug' })
  expect(written()).toHaveLength(4)
})
