import { ConfigurationError } from '../base/errors.ts'
import type { RowSource } from '../protocol/fold.ts'
import type { LocalCopy } from './local-copy.ts'

/** The rows as they are shown, for a transaction to write on. Throws a ConfigurationError for those that are not loaded yet. */
export function rowsToWrite(copy: () => LocalCopy): RowSource {
  return {
    get(t, id) {
      const { replica } = copy()
      copy().use(t)
      if (!replica.unloaded.has(t)) return replica.shown.get(t, id)
      const advice = `await \`client.load('${t}')\` before you write`
      throw new ConfigurationError(`models.${t}.load`, `The records of ${t} are not loaded yet; ${advice}.`)
    },
  }
}
