import { answerText, requestText } from './present-text.ts'
import type { CheckReport, Report } from './report.ts'

/** The report in the XML that JUnit introduced, and that CI servers read. A subject is a class. */
export function presentJunit(report: Report): string {
  const { checks, counts, durationMs } = report
  const skipped = counts.untested + counts.leftOut
  const attributes = `tests="${checks.length}" failures="${counts.notHeld}" skipped="${skipped}" time="${seconds(durationMs)}"`
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${attributes}>`,
    `<testsuite name="instep conformance" ${attributes}>`,
    ...checks.map(testCase),
    '</testsuite>',
    '</testsuites>',
  ]
  return `${lines.join('\n')}\n`
}

function testCase(check: CheckReport): string {
  const { name, durationMs } = check
  const [subject = '', rest = ''] = name.split('/')
  const head = `<testcase classname="${escaped(subject)}" name="${escaped(rest)}" time="${seconds(durationMs)}"`
  const content = contentOf(check)
  return content === '' ? `${head}/>` : `${head}>${content}</testcase>`
}

function contentOf({
  outcome,
  reason = '',
  expected = '',
  found,
  title,
  request,
  answer,
  failure,
}: CheckReport): string {
  if (outcome === 'held') return ''
  if (outcome !== 'not-held') return `<skipped message="${escaped(reason)}"/>`
  const text = [
    title,
    `Expected: ${expected}`,
    ...(found === undefined ? [] : [`Found: ${found}`]),
    ...(request ? [`Request: ${requestText(request)}`] : []),
    ...(answer ? [`Answer: ${answerText(answer)}`] : []),
    ...(failure === undefined ? [] : [`Answer: ${failure}`]),
  ].join('\n')
  return `<failure message="${escaped(expected)}">${escaped(text)}</failure>`
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3)
}

/** Escapes what has a meaning in XML, and leaves out what it cannot contain. */
function escaped(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    '\n': '&#10;',
  }
  return text
    .replace(/[^\t\n\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '?')
    .replace(/[&<>"\n]/g, (sign) => entities[sign] ?? sign)
}
