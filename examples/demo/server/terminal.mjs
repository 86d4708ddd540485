/** Prints a line for each step, with its progress. Without a terminal, prints each line when the step is done. */
export function createTerminal({ stdout }) {
  const rewrite = (line) => {
    if (stdout.isTTY) stdout.write(`\r\x1b[2K${line}`)
  }
  return {
    async step(name, work) {
      const began = performance.now()
      const label = `  ${name.padEnd(8)}`
      rewrite(label)
      const { result, summary } = await work((fraction) => rewrite(`${label}${Math.round(fraction * 100)} %`))
      rewrite('')
      const seconds = ((performance.now() - began) / 1_000).toFixed(1)
      stdout.write(`${label}${summary}, ${seconds} s\n`)
      return result
    },
    print: (line = '') => stdout.write(`${line}\n`),
  }
}
