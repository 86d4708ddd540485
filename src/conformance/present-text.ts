import type { CheckReport, MadeRecord, Report } from './report.ts'

/** The width of the lines that are wrapped. */
const width = 100

/** The length up to which a body is shown. */
const maxBody = 700

/** How many records are listed that could not be removed. */
const maxLeft = 20

type Color = 'red' | 'green' | 'yellow' | 'dim' | 'bold'

const codes: Readonly<Record<Color, string>> = { red: '31', green: '32', yellow: '33', dim: '2', bold: '1' }

type Paint = (color: Color, text: string) => string

const colored: Paint = (color, text) => `\u001b[${codes[color]}m${text}\u001b[0m`
const plain: Paint = (_, text) => text

/** The report as a page for a terminal, to be read from top to bottom. Ends with a line feed. */
export function presentText(report: Report, hasColors: boolean): string {
  const paint = hasColors ? colored : plain
  const parts = [
    headOf(report, paint),
    heldPart(report.checks, paint),
    notHeldPart(report.checks, paint),
    leftOutPart(report, paint),
    untestedPart(report.checks, paint),
    removalPart(report, paint),
    `${verdictOf(report, paint)}\n`,
  ]
  return parts.filter((part) => part !== '').join('\n')
}

function headOf({ url, endpoints }: Report, paint: Paint): string {
  const others = [...(endpoints.ws ? ['ws'] : []), ...(endpoints.tx ? ['tx'] : [])]
  const lines = [
    paint('bold', `Conformance of ${url}`),
    `Endpoints: ${['bootstrap', 'delta', ...others].join(', ')}`,
  ]
  return `${lines.join('\n')}\n`
}

function heldPart(checks: readonly CheckReport[], paint: Paint): string {
  const held = checks.filter(({ outcome }) => outcome === 'held')
  if (held.length === 0) return ''
  const lines = subjectsOf(held).flatMap(([subject, of]) => [
    `  ${paint('bold', subject)}`,
    ...of.map(({ title }) => `    ${paint('green', '✓')} ${title}`),
  ])
  return `${paint('green', `HELD (${held.length})`)}\n${lines.join('\n')}\n`
}

function notHeldPart(checks: readonly CheckReport[], paint: Paint): string {
  const notHeld = checks.filter(({ outcome }) => outcome === 'not-held')
  if (notHeld.length === 0) return ''
  return `${paint('red', `NOT HELD (${notHeld.length})`)}\n${notHeld.map((check) => notHeldText(check, paint)).join('\n')}`
}

function notHeldText(check: CheckReport, paint: Paint): string {
  const { name, title, paragraph, rule, request, answer, expected, found, failure } = check
  const lines = [`  ${paint('red', '✗')} ${title}  ${paint('dim', name)}`]
  const add = (label: string, text: string) => {
    const [first = '', ...rest] = wrapped(text, width - 16)
    lines.push(
      `      ${paint('bold', label.padEnd(10))}${first}`,
      ...rest.map((line) => `${' '.repeat(16)}${line}`),
    )
  }
  if (request) add('Request', requestText({ ...request, ...shortened(request.body) }))
  // Elsewhere, these headers are noise.
  const headers = name.startsWith('transport/') ? answer?.headers : {}
  if (answer) add('Answer', answerText({ ...answer, headers: headers ?? {}, ...shortened(answer.body) }))
  if (failure !== undefined) add('Answer', failure)
  if (expected !== undefined) add('Expected', expected)
  if (found !== undefined) add('Found', found)
  add('Rule', `docs/protocol.md, "${paragraph.replaceAll('`', '')}": ${rule}`)
  return `${lines.join('\n')}\n`
}

function shortened(body: string | undefined): { readonly body?: string } {
  if (body === undefined || body.length <= maxBody) return {}
  return { body: `${body.slice(0, maxBody)}…` }
}

function leftOutPart({ leftOut }: Report, paint: Paint): string {
  if (leftOut.length === 0) return ''
  const lines = leftOut.flatMap(({ part, lack }) => {
    const [first = '', ...rest] = wrapped(lack, width - 26)
    return [
      `  ${paint('yellow', '–')} ${part.padEnd(22)}${first}`,
      ...rest.map((line) => `${' '.repeat(26)}${line}`),
    ]
  })
  return `${paint('yellow', `LEFT OUT (${leftOut.length})`)}, and what the clients then lack\n${lines.join('\n')}\n`
}

function untestedPart(checks: readonly CheckReport[], paint: Paint): string {
  const untested = checks.filter(({ outcome }) => outcome === 'untested')
  if (untested.length === 0) return ''
  const byReason = new Map<string, CheckReport[]>()
  for (const check of untested) {
    const { reason = '' } = check
    byReason.set(reason, [...(byReason.get(reason) ?? []), check])
  }
  const lines = [...byReason].flatMap(([reason, of]) => [
    `  ${paint('yellow', '?')} ${reason}`,
    ...wrapped(of.map(({ name }) => name).join(', '), width - 6).map((line) => `      ${paint('dim', line)}`),
  ])
  return `${paint('yellow', `UNTESTED (${untested.length})`)}\n${lines.join('\n')}\n`
}

function removalPart({ removal }: Report, paint: Paint): string {
  const { made, left, reason } = removal
  if (made === 0) return ''
  if (left.length === 0) return `All ${made} records that the suite made are removed.\n`
  const nameOf = ({ t, id, of }: MadeRecord) =>
    `  ${t} ${printable(id)}${of === 'token' ? '' : ` (of --${of})`}`
  const more = left.length > maxLeft ? [`  and ${left.length - maxLeft} more`] : []
  const head =
    `${left.length} of ${made} records that the suite made could not be removed. ${reason ?? ''}`.trim()
  return `${paint('red', head)}\n${[...left.slice(0, maxLeft).map(nameOf), ...more].join('\n')}\n`
}

/** The last line, which shows in a terminal without scrolling. */
function verdictOf({ outcome, counts, durationMs }: Report, paint: Paint): string {
  const { held, notHeld, untested, leftOut } = counts
  const others = [
    ...(untested > 0 ? [`${untested} untested`] : []),
    ...(leftOut > 0 ? [`${leftOut} left out`] : []),
    `${(durationMs / 1_000).toFixed(1)} s`,
  ].join(', ')
  if (outcome === 'interrupted')
    return paint('red', `Interrupted after ${held} held and ${notHeld} not held (${others}).`)
  if (outcome === 'untested') return paint('red', `Nothing could be tested (${others}).`)
  if (notHeld > 0) return paint('red', `${notHeld} of ${held + notHeld} checks do not hold (${others}).`)
  return paint('green', `All ${held} checks hold (${others}).`)
}

function subjectsOf(checks: readonly CheckReport[]): readonly (readonly [string, readonly CheckReport[]])[] {
  const subjects = new Map<string, CheckReport[]>()
  for (const check of checks) {
    const [subject = ''] = check.name.split('/')
    subjects.set(subject, [...(subjects.get(subject) ?? []), check])
  }
  return [...subjects]
}

export function requestText({ method, url, headers, body }: NonNullable<CheckReport['request']>): string {
  const head = [`${method} ${url}`, ...headerLines(headers)]
  return [...head, ...(body ? [body] : [])].map(printable).join('\n')
}

export function answerText({ status, headers, body }: NonNullable<CheckReport['answer']>): string {
  return [`${status}`, ...headerLines(headers), ...(body ? [body] : [])].map(printable).join('\n')
}

function headerLines(headers: Readonly<Record<string, string>>): readonly string[] {
  const isNoise = (name: string) => name === 'content-length' || name === 'content-type'
  return Object.entries(headers).flatMap(([name, value]) => (isNoise(name) ? [] : [`${name}: ${value}`]))
}

/** The server's bytes must not control the terminal. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, (sign) => (sign === '\n' ? ' ' : '?'))
}

/** Breaks lines at spaces, and words that are longer than a line. */
function wrapped(text: string, columns: number): readonly string[] {
  return text.split('\n').flatMap((line) => {
    const lines: string[] = []
    let rest = line
    while (rest.length > columns) {
      const space = rest.lastIndexOf(' ', columns)
      const at = space > columns / 2 ? space : columns
      lines.push(rest.slice(0, at))
      rest = rest.slice(at).trimStart()
    }
    return [...lines, rest]
  })
}
