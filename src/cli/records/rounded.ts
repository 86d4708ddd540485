/** What is wrong with a record of which {@link roundedIn} finds a number. */
export const isRounded = 'has a whole number beyond 2^53, which would be rounded; write it as text'

/** Finds a whole number in the JSON text `text` that JavaScript would round silently. */
export function roundedIn(text: string): string | undefined {
  if (!/\d{16}/.test(text)) return undefined
  const numbers = text.replace(/"(?:[^"\\]|\\.)*"/gs, '""').match(/-?\d[\d.eE+-]*/g) ?? []
  return numbers.find((number) => /^-?\d+$/.test(number) && !isKept(number))
}

/** Whether JavaScript keeps the whole number exactly, or would write the same text for it. */
function isKept(number: string): boolean {
  const value = Number(number)
  return String(value) === number || (Number.isFinite(value) && BigInt(value) === BigInt(number))
}
