import type { Shell } from './shell.ts'

/** The maximum number of differing letters in a misspelt name. */
const maxSlips = 2

/** Returns a warning for each variable that begins with `INSTEP_` but sets no option: its name may be misspelt. */
export function unknownVariables(env: Shell['env'], known: readonly string[]): readonly string[] {
  const unknown = Object.entries(env).filter(
    ([name, text = '']) => name.startsWith('INSTEP_') && !known.includes(name) && !isOfKubernetes(name, text),
  )
  return unknown.map(([name]) => {
    const meant = known.find((each) => editDistance(name, each) <= maxSlips)
    const advice = meant ? `perhaps ${meant} is meant` : '`instep serve --help` lists all options'
    return `${name} is set, but is not an option; ${advice}.`
  })
}

/** Kubernetes sets such variables in containers beside a service named `instep` or `instep-api`. */
export function isOfKubernetes(name: string, text: string): boolean {
  const isAddress = /_PORT$/.test(name) && /^(tcp|udp|sctp):/.test(text)
  return isAddress || /_SERVICE_(HOST|PORT)(_\w+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?$/.test(name)
}

/** The number of letters to insert, delete or replace to turn `a` into `b` (Levenshtein distance). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (const [n, letter] of [...a].entries()) {
    const next = [n + 1]
    for (const [m, other] of [...b].entries()) {
      const [left = 0, above = 0, corner = 0] = [next[m], row[m + 1], row[m]]
      next.push(Math.min(left + 1, above + 1, corner + (letter === other ? 0 : 1)))
    }
    row = next
  }
  return row[b.length] ?? 0
}
