import process from 'node:process'
import type { WriteStream } from 'node:tty'
import type { Unsubscribe } from '../base/emitter.ts'
import { codeOf } from '../base/errors.ts'

/** What a command has of the outside: a test gives its own. */
export interface Shell {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdout: Output
  readonly stderr: Output
  /** Calls `listener` whenever the process is asked to end: by SIGINT or SIGTERM. */
  onEnd(listener: () => void): Unsubscribe
  /** Ends the process once all that was written has left; where results could not be written, it has failed. */
  exit(code: number): void
}

export interface Output {
  /** Whether somebody looks at it, who likes progress. */
  readonly isTerminal: boolean
  write(text: string): void
}

const signals = ['SIGINT', 'SIGTERM'] as const

export const nodeShell: Shell = {
  env: process.env,
  stdout: outputOf(process.stdout),
  stderr: outputOf(process.stderr),
  onEnd(listener) {
    for (const signal of signals) process.on(signal, listener)
    return () => {
      for (const signal of signals) process.off(signal, listener)
    }
  },
  exit(code) {
    process.stdout.write('', () => {
      const { errored } = process.stdout
      const isLost = errored && codeOf(errored) !== 'EPIPE'
      const told = isLost ? `The output cannot be written: ${errored.message}.\n` : ''
      process.stderr.write(told, () => process.exit(isLost ? 1 : code))
    })
  },
}

function outputOf(stream: WriteStream): Output {
  // Whoever read it has gone: there is nobody left to write for, and nobody to tell.
  stream.on('error', () => {})
  return {
    isTerminal: stream.isTTY === true,
    write: (text) => void stream.write(text),
  }
}
