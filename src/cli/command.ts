import { parseArgs } from 'node:util'
import { UsageError } from './failure.ts'
import type { CommandLine, Settings } from './settings.ts'
import type { Shell } from './shell.ts'

export interface Command {
  readonly name: string
  /** A sentence for the list of commands. */
  readonly about: string
  /** The positional arguments. */
  readonly arguments?: readonly Argument[]
  readonly options: Options
  /** Further paragraphs of the help. */
  readonly notes: readonly string[]
  run(settings: Settings, shell: Shell): Promise<void>
}

export interface Argument {
  readonly name: string
  readonly about: string
}

/** The options by name, like `owner-field`. */
export type Options = Readonly<Record<string, Option>>

export interface Option {
  readonly about: string
  /** The placeholder of the value in the help. An option without it is a flag. */
  readonly value?: string
  /** Whether the option may be set several times. */
  readonly repeats?: boolean
}

/**
 * Parses the arguments of a command. Throws a UsageError for an unknown argument or option, and for an option without
 * its value.
 */
export function parse(command: Command, args: readonly string[]): CommandLine {
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      Object.entries(command.options).map(([name, { value }]) => [
        name,
        { type: value === undefined ? ('boolean' as const) : ('string' as const) },
      ]),
    ),
    // Errors are reported below, as one sentence.
    strict: false,
    tokens: true,
  })
  const options = new Map<string, string[]>()
  const rest: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') rest.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName, value, inlineValue } = token
    const option = Object.hasOwn(command.options, name) ? command.options[name] : undefined
    if (!option) throw new UsageError(`There is no option \`${rawName}\`; ${seeHelp(command)}`)
    const values = options.get(name) ?? []
    if (values.length > 0 && !option.repeats)
      throw new UsageError(`\`--${name}\` is set more than once; set it once.`)
    if (option.value !== undefined && !value) {
      throw new UsageError(`\`--${name}\` needs a value; ${seeHelp(command)}`)
    }
    // The value is more likely the next option.
    if (value?.startsWith('-') && !inlineValue) {
      throw new UsageError(
        `\`--${name}\` needs a value; write a value that begins with a dash as \`--${name}=-x\`.`,
      )
    }
    options.set(name, [...values, value ?? 'true'])
  }
  const superfluous = rest[command.arguments?.length ?? 0]
  if (superfluous !== undefined) {
    throw new UsageError(`The argument \`${superfluous}\` is not expected; ${seeHelp(command)}`)
  }
  return { args: rest, options }
}

function seeHelp({ name }: Pick<Command, 'name'>): string {
  return `\`instep ${name} --help\` lists arguments and options.`
}

/** The help of one command. */
export function helpOf({ name, about, arguments: positional = [], options, notes }: Command): string {
  const args = positional.map(({ name, about }) => [`<${name}>`, about] as const)
  const list = Object.entries(options).map(
    ([option, { about, value }]) =>
      [value === undefined ? `--${option}` : `--${option}=<${value}>`, about] as const,
  )
  const usage = `Usage: instep ${name} [options]${args.map(([arg]) => ` ${arg}`).join('')}`
  return paragraphs(about, usage, table([...args, ...list]), ...notes)
}

/** The list of commands. */
export function helpOfAll(commands: readonly Command[]): string {
  return paragraphs(
    'Serves and maintains a database that clients sync with.',
    'Usage: instep <command> [options]',
    table(commands.map(({ name, about }) => [name, about])),
    '`instep <command> --help` says more about a command.',
  )
}

function paragraphs(...texts: readonly string[]): string {
  return `${texts.join('\n\n')}\n`
}

function table(rows: readonly (readonly [name: string, about: string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, about]) => `  ${name.padEnd(width)}  ${about}`).join('\n')
}
