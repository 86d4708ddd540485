import { resolveEnvironment } from '../../src/base/environment.default.ts'
import type { Check } from '../../src/conformance/check.ts'
import type { Report } from '../../src/conformance/report.ts'
import { type RunOptions, runConformance } from '../../src/conformance/run.ts'
import { selected, suite } from '../../src/conformance/suite.ts'

export const template = { t: 'Issue', p: { title: 'x' } }
export const change = { title: 'y', note: 'z' }

/** Runs the suite, or the checks of these names and subjects, with all options. */
export function checking(
  url: string,
  names: readonly string[] = [],
  options: Partial<RunOptions> = {},
): Promise<Report> {
  const { clock, random } = resolveEnvironment()
  return runConformance({
    url,
    token: 'token-of-ada',
    'other-token': 'token-of-ben',
    'expired-token': 'late',
    insert: template,
    change,
    checks: checksOf(names),
    environment: { clock, random },
    signal: new AbortController().signal,
    ...options,
  })
}

function checksOf(names: readonly string[]): readonly Check[] {
  const chosen = new Set(names.flatMap((name) => selected(name)))
  return names.length === 0 ? suite : suite.filter((check) => chosen.has(check))
}

/** The names of the checks with an outcome. */
export function namesOf({ checks }: Report, outcome: Report['checks'][number]['outcome']): readonly string[] {
  return checks.filter((check) => check.outcome === outcome).map(({ name }) => name)
}

/** What does not hold, in a line each, so that a failing test shows it. */
export function faultsOf({ checks }: Report): readonly string[] {
  return checks.flatMap(({ name, outcome, expected, found, answer }) =>
    outcome === 'not-held'
      ? [`${name}: ${expected} ${found ?? ''} ${JSON.stringify(answer)?.slice(0, 400)}`]
      : [],
  )
}
