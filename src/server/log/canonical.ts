import { maxDepth } from '../../protocol/json.ts'

/** Deeper values are left out: an op that is nested so deeply is refused, whatever it holds. */
const levels = maxDepth + 10

/** Returns the same text for all JSON values that are equal, whatever the order of their keys (like RFC 8785). */
export function canonicalText(value: unknown, left = levels): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (left === 0) return ''
  if (Array.isArray(value)) return `[${value.map((item) => canonicalText(item, left - 1)).join()}]`
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([name, item]) => `${JSON.stringify(name)}:${canonicalText(item, left - 1)}`).join()}}`
}
