import { CommandError } from './failure.ts'
import type { Settings } from './settings.ts'

/** The arguments of a command for one record. */
export const recordArguments = [
  { name: 'type', about: 'The type of the record' },
  { name: 'id', about: 'Its id; write `-- -x` for an id that begins with a dash' },
] as const

/** The type and the id in the arguments. Throws a UsageError if one is missing. */
export function recordNamedIn(settings: Settings): readonly [type: string, id: string] {
  return [settings.argument(0, 'type'), settings.argument(1, 'id')]
}

export function noSuchRecord(type: string, id: string): CommandError {
  return new CommandError(`There is no ${type} with the id ${id}.`)
}
