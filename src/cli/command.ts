import { parseArgs } from 'node:util'
import { UsageError } from './failure.ts'
import type { Given, Settings } from './settings.ts'
import type { Shell } from './shell.ts'

export interface Command {
  readonly name: string
  /** One sentence. */
  readonly about: string
  /** The one argument without a name, where there is one. */
  readonly argument?: { readonly name: string; readonly about: string }
  readonly options: Options
  /** What else its help says. */
  readonly notes: readonly string[]
  run(settings: Settings, shell: Shell): Promise<void>
}

/** By name, as in `owner-field`. */
export type Options = Readonly<Record<string, Option>>

export interface Option {
  readonly about: string
  /** What stands for its value in the help; one without is on or off. */
  readonly value?: string
}

/** What `args` say to `command`. Throws a UsageError for what it does not know, and for an option without its value. */
export function parse(command: Command, args: readonly string[]): Given {
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      Object.entries(command.options).map(([name, { value }]) => [
        name,
        { type: value === undefined ? ('boolean' as const) : ('string' as const) },
      ]),
    ),
    // What is wrong is said here, in one sentence.
    strict: false,
    tokens: true,
  })
  const options = new Map<string, string>()
  const rest: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') rest.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName, value, inlineValue } = token
    const option = Object.hasOwn(command.options, name) ? command.options[name] : undefined
    if (!option) throw new UsageError(`There is no option \`${rawName}\`; ${seeHelp(command)}`)
    if (options.has(name)) throw new UsageError(`\`--${name}\` is given more than once; give it once.`)
    if (option.value !== undefined && !value) {
      throw new UsageError(`\`--${name}\` needs a value; ${seeHelp(command)}`)
    }
    // More likely the next option than a value.
    if (value?.startsWith('-') && !inlineValue) {
      throw new UsageError(
        `\`--${name}\` needs a value; one that begins with a dash is given as in \`--${name}=-x\`.`,
      )
    }
    options.set(name, value ?? 'true')
  }
  const [argument, superfluous] = command.argument ? rest : [undefined, ...rest]
  if (superfluous !== undefined) {
    throw new UsageError(`There is nothing that \`${superfluous}\` could mean; ${seeHelp(command)}`)
  }
  return { argument, options }
}

function seeHelp({ name }: Pick<Command, 'name'>): string {
  return `\`instep ${name} --help\` lists what there is.`
}

/** The help of one command. */
export function helpOf({ name, about, argument, options, notes }: Command): string {
  const args = argument ? [[`<${argument.name}>`, argument.about] as const] : []
  const list = Object.entries(options).map(
    ([option, { about, value }]) =>
      [value === undefined ? `--${option}` : `--${option}=<${value}>`, about] as const,
  )
  const usage = `Usage: instep ${name} [options]${args.map(([arg]) => ` ${arg}`).join('')}`
  return paragraphs(about, usage, table([...args, ...list]), ...notes)
}

/** The help of all of them. */
export function helpOfAll(commands: readonly Command[]): string {
  return paragraphs(
    'Serves and looks after copies of data that keep in step.',
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
