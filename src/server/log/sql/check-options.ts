import { ConfigurationError } from '../../../base/errors.ts'
import { refuseUnknown } from '../../../base/known-options.ts'
import { isObject } from '../../../protocol/json.ts'

const bounds = [
  'readerIdleMs',
  'spoolAfterMs',
  'maxReadMs',
  'maxReaders',
  'maxDeltaReaders',
  'maxWaitMs',
] as const

/** What of a log's options is checked. */
type Checked = { readonly [Name in (typeof bounds)[number] | 'retention']?: unknown }

/** Throws a ConfigurationError that names the option of a log which is wrong. */
export function checkLogOptions(options: Checked): void {
  for (const option of bounds) {
    const { [option]: value = 1 } = options
    if (!(typeof value === 'number' && value > 0)) throw wrong(option, 'a number above 0')
  }
  const { retention = {} } = options
  if (!isObject(retention)) throw wrong('retention', '{ maxAgeMs?, maxChanges? }')
  refuseUnknown(retention, { maxAgeMs: true, maxChanges: true })
  for (const [option, value = 0] of Object.entries(retention)) {
    // Below 0, all would be forgotten.
    if (typeof value === 'number' && value >= 0) continue
    throw wrong(`retention.${option}`, 'a number of 0 or more')
  }
}

function wrong(option: string, what: string): ConfigurationError {
  return new ConfigurationError(option, `The option \`${option}\` is to be ${what}.`)
}
