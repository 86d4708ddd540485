import process from 'node:process'
import type { WriteStream } from 'node:tty'
import type { Unsubscribe } from '../base/emitter.ts'
import { codeOf } from '../base/errors.ts'

/** The environment of a command. Tests pass their own. */
export interface Shell {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdout: Output
  readonly stderr: Output
  /** Calls `listener` at each SIGINT and SIGTERM. */
  onEnd(listener: () => void): Unsubscribe
  /** Ends the process once all output is written. If the output could not be written, the exit code is 1. */
  exit(code: number): void
}

export interface Output {
  /** Whether the output is a terminal, which can show progress. */
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
      const message = isLost ? `The output cannot be written: ${errored.message}.\n` : ''
      process.stderr.write(message, () => process.exit(isLost ? 1 : code))
    })
  },
}

function outputOf(stream: WriteStream): Output {
  // Without a listener, an error would end the process. If the reader has gone, nobody needs the output.
  stream.on('error', () => {})
  return {
    isTerminal: stream.isTTY === true,
    write: (text) => void stream.write(text),
  }
}
