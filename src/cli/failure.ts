import { isSyncError, toError } from '../base/errors.ts'

/**
 * The command was called incorrectly; exit code 2. The message is one sentence that says what is wrong and what to do.
 */
export class UsageError extends Error {}

/** The command failed; exit code 1. The message is one sentence. */
export class CommandError extends Error {}

/** The message for a user: one line, without a stack. */
export function sentenceOf(error: unknown): string {
  const { message } = toError(error)
  const isOurs = error instanceof UsageError || error instanceof CommandError || isSyncError(error)
  return oneLine(isOurs ? message : `Something unexpected failed: ${message}`)
}

/** `text` as one line, without control characters. */
export function oneLine(text: string): string {
  return text
    .trim()
    .replace(/\s*\n\s*/g, ' ')
    .replace(/\p{Cc}/gu, '?')
}
