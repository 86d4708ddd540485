import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { toError } from '../base/errors.ts'
import { isObject } from '../protocol/json.ts'
import type { TableMappings } from '../server/tables/mapping.ts'
import { UsageError } from './failure.ts'
import type { Shell } from './shell.ts'
import { durationOf } from './units.ts'
import { isOfKubernetes } from './unknown-variables.ts'

type Config = Readonly<Record<string, unknown>>

/** The option that every command has. */
export const configOption = {
  about: 'A file with any of these options: JSON, or a module that exports them',
  value: 'file',
}

/** The parsed command line. */
export interface CommandLine {
  readonly args: readonly string[]
  /** The values of each option, in order: at least one. */
  readonly options: ReadonlyMap<string, readonly string[]>
}

interface Found {
  readonly text: string
  /** The name of the option in its source, for error messages. */
  readonly name: string
}

/**
 * The options of a command. Each comes from the command line, else from the environment, else from the file that
 * `--config` names. Every method throws a UsageError for an invalid value; the message names the source.
 */
export class Settings {
  /** The positional arguments. */
  readonly args: readonly string[]
  readonly #commandLine: CommandLine
  readonly #env: Shell['env']
  readonly #config: Config
  readonly #configPath: string
  readonly #known: ReadonlySet<string>

  /**
   * Reads the file of `--config`, if there is one. `known` has the options of all commands, since all commands may
   * share one file.
   */
  static async read(
    commandLine: CommandLine,
    env: Shell['env'],
    known: ReadonlySet<string>,
  ): Promise<Settings> {
    const path = commandLine.options.get('config')?.[0] ?? nonEmpty('INSTEP_CONFIG', env.INSTEP_CONFIG) ?? ''
    return new Settings(commandLine, env, known, path, path === '' ? {} : await readConfig(path, known))
  }

  private constructor(
    commandLine: CommandLine,
    env: Shell['env'],
    known: ReadonlySet<string>,
    configPath: string,
    config: Config,
  ) {
    this.args = commandLine.args
    this.#known = known
    this.#commandLine = commandLine
    this.#env = env
    this.#configPath = configPath
    this.#config = config
  }

  /** The tables of the application, which only the file of `--config` can have. Not checked yet. */
  get tables(): TableMappings | undefined {
    const { tables } = this.#config
    return isMappings(tables) ? tables : undefined
  }

  /** The environment variables that set options. */
  get variables(): readonly string[] {
    return ['config', ...this.#known].map(variableOf)
  }

  /** The positional argument at `index`. Throws a UsageError with its `name` if it is missing or empty. */
  argument(index: number, name: string): string {
    const argument = this.args[index]
    if (!argument) throw new UsageError(`The argument <${name}> is missing.`)
    return argument
  }

  text(option: string): string | undefined {
    return this.#find(option)?.text
  }

  /** The value of a required option. Throws a UsageError with `expected` if it is missing. */
  required(option: string, expected: string): string {
    const text = this.text(option)
    if (text === undefined) throw new UsageError(`\`--${option}\` is missing; it must be ${expected}.`)
    return text
  }

  oneOf<Choice extends string>(option: string, choices: readonly Choice[]): Choice | undefined {
    const isChoice = (text: string): text is Choice => choices.some((choice) => choice === text)
    return this.#read(
      option,
      (text) => (isChoice(text) ? text : undefined),
      choices.map((choice) => `\`${choice}\``).join(' or '),
    )
  }

  integer(option: string, min: number, max: number): number | undefined {
    return this.#read(
      option,
      (text) => {
        const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
        return number >= min && number <= max ? number : undefined
      },
      `a whole number from ${min} to ${max}`,
    )
  }

  /** A duration in ms. */
  duration(option: string): number | undefined {
    return this.#read(option, durationOf, 'a time like `90s`, `15m`, `12h` or `7d`')
  }

  /** The comma-separated items. */
  list(option: string): readonly string[] | undefined {
    const itemsOf = (text: string) => {
      const items = text.split(',').map((item) => item.trim())
      return items.some((item) => item !== '') ? items.filter((item) => item !== '') : undefined
    }
    return this.#read(option, itemsOf, 'one or more items, separated by commas')
  }

  /** Whether a flag is on. */
  flag(option: string): boolean {
    return isOn(this.#find(option))
  }

  /**
   * Whether a flag is on in the command line, ignoring other sources: for actions that a forgotten setting must not
   * cause.
   */
  flagInCommandLine(option: string): boolean {
    return isOn(this.#onLine(option))
  }

  /** The value in the command line, ignoring other sources, as in {@link flagInCommandLine}. */
  valueInCommandLine(option: string): string | undefined {
    return this.#onLine(option)?.text
  }

  /** The values of an option that repeats. Ignores other sources, as `flagInCommandLine` does. */
  valuesInCommandLine(option: string): readonly string[] {
    return this.#commandLine.options.get(option) ?? []
  }

  #read<T>(option: string, read: (text: string) => T | undefined, expected: string): T | undefined {
    return readAs(this.#find(option), read, expected)
  }

  #onLine(option: string): Found | undefined {
    const text = this.#commandLine.options.get(option)?.[0]
    return text === undefined ? undefined : { text, name: `\`--${option}\`` }
  }

  #find(option: string): Found | undefined {
    const onLine = this.#onLine(option)
    if (onLine) return onLine
    const variable = variableOf(option)
    const set = nonEmpty(variable, this.#env[variable])
    if (set && !isOfKubernetes(variable, set)) return { text: set, name: `\`${variable}\`` }
    const key = camel(option)
    const value = this.#config[key]
    if (value === undefined) return undefined
    return { text: String(value), name: `\`${key}\` in ${this.#configPath}` }
  }
}

/**
 * Throws a UsageError if `variable` is set but empty: taking it for unset would lift the restriction that it was meant
 * to set.
 */
export function nonEmpty(variable: string, text: string | undefined): string | undefined {
  if (text === '') throw new UsageError(`\`${variable}\` is empty; set a value, or unset it.`)
  return text
}

function isOn(found: Found | undefined): boolean {
  const read = (text: string) => {
    if (/^(true|1)$/.test(text)) return true
    return /^(false|0)$/.test(text) ? false : undefined
  }
  return readAs(found, read, '`true` or `false`') ?? false
}

function readAs<T>(
  found: Found | undefined,
  read: (text: string) => T | undefined,
  expected: string,
): T | undefined {
  if (!found) return undefined
  const value = read(found.text)
  if (value === undefined) throw new UsageError(`${found.name} must be ${expected}, not \`${found.text}\`.`)
  return value
}

/** Whether `value` has the form of mappings. {@link readMappings} checks the rest. */
function isMappings(value: unknown): value is TableMappings {
  return isObject(value)
}

async function readConfig(path: string, known: ReadonlySet<string>): Promise<Config> {
  const isModule = /\.[cm]?[jt]s$/.test(path)
  const config = isModule ? await importConfig(path) : parseConfig(path)
  const keys = new Set([...known].map(camel))
  for (const [key, value] of Object.entries(config)) {
    if (key === 'tables' && isObject(value)) continue
    // A module may also have the options of `createSyncService`.
    if (isModule && !keys.has(key)) continue
    if (!keys.has(key)) throw new UsageError(`\`${key}\` in ${path} is not an option that a file can set.`)
    const items = [value].flat()
    if (items.length > 0 && items.every(isSetting)) continue
    throw new UsageError(
      `\`${key}\` in ${path} must be a string, a number, a list, \`true\` or \`false\`, and not empty.`,
    )
  }
  return config
}

/** Refuses `null`, which would be read as the word "null", and empty strings, which would lift a restriction. */
function isSetting(value: unknown): boolean {
  return value !== '' && ['string', 'number', 'boolean'].includes(typeof value)
}

/** The default export of a module. */
async function importConfig(path: string): Promise<Config> {
  try {
    const module: { readonly default?: unknown } = await import(pathToFileURL(resolve(path)).href)
    if (isObject(module.default)) return module.default
  } catch (error) {
    const reason = toError(error).message.replace(/\.$/, '')
    throw new UsageError(`The file ${path} cannot be loaded: ${reason}.`)
  }
  throw new UsageError(`The file ${path} must have an object as its default export, like { port: 8080 }.`)
}

function parseConfig(path: string): Config {
  try {
    // Some editors start a file with a byte order mark.
    const config: unknown = JSON.parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, ''))
    if (isObject(config)) return config
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'it is not JSON' : toError(error).message
    throw new UsageError(`The file ${path} cannot be read: ${reason}.`)
  }
  throw new UsageError(`The file ${path} must contain an object, like {"port": 8080}.`)
}

function variableOf(option: string): string {
  return `INSTEP_${option.replaceAll('-', '_').toUpperCase()}`
}

function camel(option: string): string {
  return option.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}
