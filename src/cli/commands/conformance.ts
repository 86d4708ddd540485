import { writeFileSync } from 'node:fs'
import { resolveEnvironment } from '../../base/environment.default.ts'
import { toError } from '../../base/errors.ts'
import type { Check } from '../../conformance/check.ts'
import { presentJunit } from '../../conformance/present-junit.ts'
import { presentText } from '../../conformance/present-text.ts'
import { NobodyThere } from '../../conformance/probe.ts'
import type { Report } from '../../conformance/report.ts'
import { runConformance } from '../../conformance/run.ts'
import { selected, suite } from '../../conformance/suite.ts'
import type { Template } from '../../conformance/template.ts'
import { isObject, type Payload, readJson } from '../../protocol/json.ts'
import { isStorableName } from '../../protocol/json-copy.ts'
import type { Command } from '../command.ts'
import { CommandError, oneLine, UsageError } from '../failure.ts'
import { untilSignal } from '../listen.ts'
import { pluralize } from '../pluralize.ts'
import { Progress } from '../progress.ts'
import type { Settings } from '../settings.ts'
import type { Shell } from '../shell.ts'

/** The time limit of a check, in s. */
const defaultTimeout = 30

export const conformance: Command = {
  name: 'conformance',
  about: 'Checks from outside whether a server keeps to the protocol.',
  arguments: [
    { name: 'base-url', about: 'The address that clients have, like http://127.0.0.1:8080/sync/v1' },
  ],
  options: {
    token: { about: 'A valid token', value: 'text' },
    'other-token': {
      about: "A token of a second user, who does not see the first one's records",
      value: 'text',
    },
    'expired-token': { about: 'A token that is valid no longer', value: 'text' },
    insert: {
      about: 'A record that may be inserted, changed and removed, as in {"t":"Issue","p":{"title":"x"}}',
      value: 'json',
    },
    change: { about: 'A change of such a record, as in {"title":"y"}', value: 'json' },
    json: { about: 'Prints the report as one JSON document' },
    junit: { about: 'A file for the report in the XML of JUnit', value: 'file' },
    only: {
      about: 'Runs only this check, or the checks of this subject; may be repeated',
      value: 'name',
      repeats: true,
    },
    timeout: { about: `The time limit of a check, in seconds (${defaultTimeout})`, value: 'seconds' },
  },
  notes: [
    'Whatever an option is missing for is untested. The records that the suite makes have UUIDs as ids. If `--insert` has an\n' +
      '`id`, that is the first one, and the others are counted up from it. In the end, all of them are removed.',
    'The exit code is 0 if the core holds and all that the server offers, 1 if something does not hold, and 2 if the\n' +
      'command is wrong, nobody responds, or nothing can be tested.',
    `The subjects: ${[...new Set(suite.map(({ name }) => name.split('/')[0]))].join(', ')}.`,
  ],
  run: (settings, shell) => run(settings, shell),
}

async function run(settings: Settings, shell: Shell): Promise<void> {
  const url = urlIn(settings)
  const checks = checksIn(settings)
  const junit = settings.valueInCommandLine('junit')
  // Before the run, which would be in vain.
  if (junit !== undefined) writeFile(junit, '')
  const { clock, random } = resolveEnvironment()
  const progress = new Progress(shell.stderr, clock)
  const interruption = new AbortController()
  void untilSignal(shell).then(() => {
    progress.clear()
    shell.stderr.write('Interrupted; the records that the suite made are being removed.\n')
    interruption.abort()
  })
  const report = await withNobody(
    runConformance({
      url,
      token: settings.text('token'),
      'other-token': settings.text('other-token'),
      'expired-token': settings.text('expired-token'),
      insert: templateIn(settings),
      change: objectIn(settings, 'change'),
      checks,
      timeoutMs: timeoutIn(settings) * 1_000,
      environment: { clock, random },
      signal: interruption.signal,
      onChecked({ name, outcome }, done, all) {
        progress.show(`Checking (${name})`, done, all)
        if (!shell.stderr.isTerminal) shell.stderr.write(`${done}/${all} ${name}: ${outcome}\n`)
      },
    }),
  ).finally(() => progress.clear())
  if (junit !== undefined) writeFile(junit, presentJunit(report))
  const hasColors = shell.stdout.isTerminal && !shell.env.NO_COLOR
  const isJson = settings.valueInCommandLine('json') !== undefined
  const text = isJson ? `${JSON.stringify(report, undefined, 2)}\n` : presentText(report, hasColors)
  shell.stdout.write(text)
  endWith(report)
}

/** Throws what makes the exit code. The report has said the rest. */
function endWith({ outcome, counts, removal }: Report): void {
  switch (outcome) {
    case 'held':
      return
    case 'not-held':
      throw new CommandError(`${pluralize(counts.notHeld, 'check')} not held.`)
    case 'untested':
      throw new UsageError('Nothing could be tested; set `--token` at least.')
    case 'interrupted': {
      const left =
        removal.left.length === 0 ? 'all of its records are removed' : 'some of its records are left'
      throw new CommandError(`The run was interrupted; ${left}.`)
    }
  }
}

async function withNobody(running: Promise<Report>): Promise<Report> {
  try {
    return await running
  } catch (error) {
    if (error instanceof NobodyThere) throw new UsageError(oneLine(error.message))
    throw error
  }
}

function urlIn(settings: Settings): string {
  const text = settings.argument(0, 'base-url')
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError(`<base-url> must be an address like http://127.0.0.1:8080/sync/v1, not \`${text}\`.`)
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '')
    throw new UsageError('<base-url> must be an address without a query, a fragment or a user.')
  return url.href.replace(/\/+$/, '')
}

function checksIn(settings: Settings): readonly Check[] {
  const names = settings.valuesInCommandLine('only')
  if (names.length === 0) return suite
  const chosen = new Set(
    names.flatMap((name) => {
      const checks = selected(name)
      if (checks.length > 0) return checks
      throw new UsageError(`There is no check \`${name}\`; \`instep conformance --help\` lists the subjects.`)
    }),
  )
  return suite.filter((check) => chosen.has(check))
}

function templateIn(settings: Settings): Template | undefined {
  const record = objectIn(settings, 'insert')
  if (record === undefined) return undefined
  const { t, id, p = {} } = record
  if (!isStorableName(t))
    throw new UsageError('`--insert` must have a type `t`, as in {"t":"Issue","p":{"title":"x"}}.')
  if (!isObject(p))
    throw new UsageError('`p` of `--insert` must be an object, as in {"t":"Issue","p":{"title":"x"}}.')
  if (id !== undefined && !isStorableName(id)) throw new UsageError('`id` of `--insert` must be a string.')
  return { t, p, ...(id === undefined ? undefined : { id }) }
}

function objectIn(settings: Settings, option: 'insert' | 'change'): Payload | undefined {
  const text = settings.valueInCommandLine(option)
  if (text === undefined) return undefined
  const value = readJson(text)
  if (isPayloadLike(value)) return value
  throw new UsageError(`\`--${option}\` must be a JSON object, not \`${text}\`.`)
}

function isPayloadLike(value: unknown): value is Payload {
  return isObject(value)
}

function timeoutIn(settings: Settings): number {
  const text = settings.valueInCommandLine('timeout') ?? String(defaultTimeout)
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0
  if (seconds > 0 && seconds <= 3_600) return seconds
  throw new UsageError(`\`--timeout\` must be a number of seconds from 0.1 to 3600, not \`${text}\`.`)
}

function writeFile(path: string, text: string): void {
  try {
    writeFileSync(path, text)
  } catch (error) {
    throw new UsageError(`The file ${path} cannot be written: ${toError(error).message}.`)
  }
}
