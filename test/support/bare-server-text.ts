import { shuffled } from './virtual-random.ts'

type Random = () => number

/**
 * The JSON text of `value` as another server might write it: keys in any order, white space wherever JSON allows it,
 * and characters escaped that need not be.
 */
export function looseJson(value: unknown, random: Random): string {
  if (Array.isArray(value)) return listText(value, random)
  if (typeof value === 'object' && value !== null)
    return objectText(shuffled(Object.entries(value), random), random)
  return typeof value === 'string' ? stringText(value, random) : JSON.stringify(value)
}

/** An object whose keys come in just this order. */
export function objectText(entries: readonly (readonly [string, unknown])[], random: Random): string {
  const members = entries.map(([name, value]) => {
    return `${stringText(name, random)}${space(random)}:${space(random)}${looseJson(value, random)}`
  })
  return `{${separated(members, random)}}`
}

function listText(items: readonly unknown[], random: Random): string {
  return `[${separated(
    items.map((item) => looseJson(item, random)),
    random,
  )}]`
}

function separated(texts: readonly string[], random: Random): string {
  return space(random) + texts.map((text) => text + space(random)).join(`,${space(random)}`)
}

const spaces = ['', '', '', ' ', ' ', '\n', '\t', '\r\n  ']

function space(random: Random): string {
  return spaces[Math.floor(random() * spaces.length)] ?? ''
}

function stringText(value: string, random: Random): string {
  const text = JSON.stringify(value)
  if (random() < 0.7) return text
  return text
    .replaceAll('/', '\\/')
    .replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The UTF-8 of `text` in pieces of 1 to `most` bytes, cut wherever it falls, also inside a character. */
export function oddChunks(text: string, most: number, random: Random): Uint8Array[] {
  const bytes = new TextEncoder().encode(text)
  const chunks: Uint8Array[] = []
  for (let start = 0; start < bytes.length; ) {
    const end = start + 1 + Math.floor(random() * most)
    chunks.push(bytes.subarray(start, end))
    start = end
  }
  return chunks
}
