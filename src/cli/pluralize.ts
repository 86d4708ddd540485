/** A count with its noun, like `2 records`. */
export function pluralize(count: number, name: string): string {
  return `${count} ${name}${count === 1 ? '' : 's'}`
}
