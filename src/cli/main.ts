import { helpOf, helpOfAll, parse } from './command.ts'
import { commands } from './commands.ts'
import { sentenceOf, UsageError } from './failure.ts'
import { Settings } from './settings.ts'
import type { Shell } from './shell.ts'

/** The options that no file and no environment variable sets. */
const onlyInCommandLine = ['config', 'new', 'all', 'repair', 'insert', 'change', 'junit', 'only', 'timeout']

/** Runs a command line. Resolves with the exit code: 0 for success, 1 for a failure, 2 for wrong arguments. */
export async function main(args: readonly string[], shell: Shell, version: () => string): Promise<number> {
  try {
    await run(args, shell, version)
    return 0
  } catch (error) {
    shell.stderr.write(`${sentenceOf(error)}\n`)
    return error instanceof UsageError ? 2 : 1
  }
}

async function run([name, ...args]: readonly string[], shell: Shell, version: () => string): Promise<void> {
  const { env, stdout } = shell
  if (name === '--version') return stdout.write(`${version()}\n`)
  if (name === '--help' || name === '-h') return stdout.write(helpOfAll(commands))
  if (name === undefined) throw new UsageError('A command is missing; `instep --help` lists them.')
  const command = commands.find((each) => each.name === name)
  if (!command) throw new UsageError(`There is no command \`${name}\`; \`instep --help\` lists them.`)
  if (args.includes('--help') || args.includes('-h')) return stdout.write(helpOf(command))
  const known = new Set(commands.flatMap(({ options }) => Object.keys(options)))
  for (const name of onlyInCommandLine) known.delete(name)
  await command.run(await Settings.read(parse(command, args), env, known), shell)
}
