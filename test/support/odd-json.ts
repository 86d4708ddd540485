type Random = () => number

/** The JSON text of `value` as few would write it: keys in any order, white space anywhere, any character escaped. */
export function oddJson(value: unknown, random: Random): string {
  if (typeof value === 'string') return oddString(value, random)
  if (Array.isArray(value)) {
    const items = value.map((item) => oddJson(item, random))
    return `[${separated(items, random)}]`
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return oddObject(shuffled(Object.entries(value), random), random)
}

/** The same of an object whose keys come in this order. */
export function oddObject(entries: readonly (readonly [string, unknown])[], random: Random): string {
  const members = entries.map(([name, value]) => {
    return `${oddString(name, random)}${space(random)}:${space(random)}${oddJson(value, random)}`
  })
  return `{${separated(members, random)}}`
}

function separated(texts: readonly string[], random: Random): string {
  return space(random) + texts.map((text) => text + space(random)).join(`,${space(random)}`)
}

const spaces = ['', '', '', ' ', ' ', '\n', '\t', '\r\n  ']

function space(random: Random): string {
  return spaces[Math.floor(random() * spaces.length)] ?? ''
}

function oddString(value: string, random: Random): string {
  const text = JSON.stringify(value)
  if (random() < 0.7) return text
  // An escape stays as it is, and so does a character of two units.
  return text.replace(/\\u....|\\.|"|./gu, (char) =>
    char.length > 1 || char === '"' || random() < 0.9
      ? char
      : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** `items` in a random order (Fisher and Yates). */
function shuffled<T>(items: readonly T[], random: Random): T[] {
  const result = [...items]
  for (let last = result.length - 1; last > 0; last -= 1) {
    const [taken] = result.splice(Math.floor(random() * (last + 1)), 1)
    if (taken !== undefined) result.push(taken)
  }
  return result
}

/** The UTF-8 of `text` in pieces of 1 to `maxBytes` bytes, cut anywhere, also inside a character. */
export function oddChunks(text: string, maxBytes: number, random: Random): Uint8Array[] {
  const bytes = new TextEncoder().encode(text)
  const chunks: Uint8Array[] = []
  for (let start = 0; start < bytes.length; ) {
    const end = start + 1 + Math.floor(random() * maxBytes)
    chunks.push(bytes.subarray(start, end))
    start = end
  }
  return chunks
}
