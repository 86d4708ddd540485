import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loggerIn } from '../../src/cli/log.ts'
import { main } from '../../src/cli/main.ts'
import { Progress } from '../../src/cli/progress.ts'
import { Settings } from '../../src/cli/settings.ts'
import type { Output, Shell } from '../../src/cli/shell.ts'
import { VirtualClock } from '../support/virtual.ts'

function recorded(isTerminal: boolean): { readonly output: Output; readonly texts: string[] } {
  const texts: string[] = []
  return { texts, output: { isTerminal, write: (text) => void texts.push(text) } }
}

test('progress is shown on a terminal, at most ten times a second, and removed at the end', async () => {
  const clock = new VirtualClock()
  const { output, texts } = recorded(true)
  const progress = new Progress(output, clock)
  progress.show('Writing', 1, 3)
  progress.show('Writing', 2, 3)
  await clock.advance(100)
  progress.show('Writing', 3, 3)
  progress.clear()
  expect(texts.map((text) => text.replace('\r\u001b[2K', ''))).toEqual(['Writing 33 %', 'Writing 100 %', ''])
})

describe('an import on a terminal', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'instep-terminal-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const importing = async (text: string, onEnd: Shell['onEnd'] = () => () => {}) => {
    const path = join(folder, 'records.ndjson')
    writeFileSync(path, text, 'latin1')
    const { output, texts } = recorded(true)
    const shell: Shell = { env: {}, stdout: output, stderr: output, onEnd, exit: () => {} }
    const args = ['import', path, '--type', 'T', '--database', join(folder, 'data')]
    return { code: await main(args, shell, () => ''), texts }
  }

  test('removes its progress before it prints an error', async () => {
    const { code, texts } = await importing('{"id":"i1","userId":"ann"}\n\xff')
    expect(code).toBe(1)
    expect(texts.slice(-2)).toEqual(['\r\u001b[2K', expect.stringMatching(/is not in UTF-8\.\n$/)])
  })

  test('that is interrupted before its first write says so', async () => {
    const { code, texts } = await importing('{"id":"i1","userId":"ann"}\n', (listener) => {
      queueMicrotask(listener)
      return () => {}
    })
    expect([code, texts.at(-1)]).toEqual([1, 'The import was interrupted; nothing was written.\n'])
  })
})

test('progress is not shown without a terminal', () => {
  const { output, texts } = recorded(false)
  const progress = new Progress(output, new VirtualClock())
  progress.show('Writing', 1, 3)
  progress.clear()
  expect(texts).toEqual([])
})

test('a log line stays one line, and cannot control the terminal, whatever a request contains', async () => {
  const { output, texts } = recorded(true)
  const settings = await Settings.read({ args: [], options: new Map() }, {}, new Set())
  const shell: Shell = { env: {}, stdout: output, stderr: output, onEnd: () => () => {}, exit: () => {} }
  const logger = await loggerIn(settings, shell)
  logger.warn('One\ntwo.', { path: '/a\n\u001b[31m\u009b', status: 401, nothing: undefined })
  logger.info('Not at this level.')
  expect(texts).toEqual(['warn  One two. path="/a\\n\\u001b[31m?" status=401 nothing=undefined\n'])
})
