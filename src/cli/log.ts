import type { Logger } from '../base/logger.ts'
import { pinoLogger } from '../server/ops/pino-logger.ts'
import { loadPeer } from '../server/optional-peer.ts'
import { oneLine } from './failure.ts'
import type { Settings } from './settings.ts'
import type { Output, Shell } from './shell.ts'

const levels = ['debug', 'info', 'warn', 'error', 'silent'] as const

type Level = (typeof levels)[number]

export const logOptions = {
  'log-level': {
    about: 'The lowest level of lines on stderr: debug, info, warn, error or silent (warn)',
    value: 'level',
  },
  'log-format': {
    about: 'text, or json for one object per line, which needs the package pino (text)',
    value: 'format',
  },
}

/** Returns the logger of a command, which writes to stderr: stdout holds only results. */
export async function loggerIn(settings: Settings, { stderr }: Shell): Promise<Logger> {
  const level = settings.oneOf('log-level', levels) ?? 'warn'
  if (settings.oneOf('log-format', ['text', 'json']) !== 'json') return textLogger(level, stderr)
  const { pino } = await loadPeer('pino', () => import('pino'))
  return pinoLogger(pino({ level, base: null }, { write: (line) => stderr.write(line) }))
}

function textLogger(level: Level, output: Output): Logger {
  const minLevel = levels.indexOf(level)
  const logAt =
    (lineLevel: Exclude<Level, 'silent'>) =>
    (message: string, details: object = {}) => {
      if (levels.indexOf(lineLevel) < minLevel) return
      const facts = Object.entries(details).map(([name, value]) => ` ${name}=${textOf(value)}`)
      output.write(`${lineLevel.padEnd(5)} ${oneLine(message)}${facts.join('')}\n`)
    }
  return { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') }
}

/** The value without control characters, and on one line. */
function textOf(value: unknown): string {
  const text = typeof value === 'string' && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value)
  return (text ?? 'undefined').replace(/[\u007f-\u009f]/g, '?')
}
