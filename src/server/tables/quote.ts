/** `name` as an identifier in SQL. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** `text` as a literal in SQL, whatever `standard_conforming_strings` is. */
export function literal(text: string): string {
  const quoted = `'${text.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`
  return quoted.includes('\\') ? `E${quoted}` : quoted
}
