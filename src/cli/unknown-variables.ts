import type { Shell } from './shell.ts'

/** So many letters may differ in what is taken for another name. */
const maxSlips = 2

/** Says of each variable that looks like one of `known` and is none that nothing reads it: it may be misspelt. */
export function unknownVariables(env: Shell['env'], known: readonly string[]): readonly string[] {
  const unknown = Object.entries(env).filter(
    ([name, text = '']) => name.startsWith('INSTEP_') && !known.includes(name) && !isOfKubernetes(name, text),
  )
  return unknown.map(([name]) => {
    const meant = known.find((each) => slipsBetween(name, each) <= maxSlips)
    return `${name} is set, and is no option; ${meant ? `${meant} is one` : '`instep serve --help` lists them'}.`
  })
}

/** Kubernetes gives the containers beside a service that is called `instep`, or `instep-api`, its address in such variables. */
export function isOfKubernetes(name: string, text: string): boolean {
  const isAddress = /_PORT$/.test(name) && /^(tcp|udp|sctp):/.test(text)
  return isAddress || /_SERVICE_(HOST|PORT)(_\w+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?$/.test(name)
}

/** How many letters have to be put in, taken out or exchanged to make `b` of `a` (Levenshtein's distance). */
function slipsBetween(a: string, b: string): number {
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
