import { parseArgs } from 'node:util'

/**
 * What the arguments say: a number for an option whose default is one, and for `only` some of the names that are its
 * default. Ends the process with `help` where that is asked for, and with a sentence and 2 where they say something else.
 */
export function readOptions(help, defaults) {
  const texts = Object.entries(defaults).map(([name, value]) => [
    name,
    { type: 'string', default: String(value) },
  ])
  try {
    const { values } = parseArgs({ options: { ...Object.fromEntries(texts), help: { type: 'boolean' } } })
    if (!values.help)
      return Object.fromEntries(texts.map(([name]) => [name, read(name, values[name], defaults)]))
    console.log(help)
    process.exit(0)
  } catch ({ message }) {
    console.error(`${message.replace(/\.?$/, '.')} \`--help\` lists what there is.`)
    process.exit(2)
  }
}

function read(name, text, { [name]: preset }) {
  if (!Array.isArray(preset)) {
    if (/^[1-9]\d*$/.test(text)) return Number(text)
    throw new Error(`\`--${name}\` is to be a whole number above 0.`)
  }
  const names = text.split(',')
  if (names.every((each) => preset.includes(each))) return names
  throw new Error(`\`--${name}\` is to be some of ${preset.join(', ')}, with commas between them.`)
}
