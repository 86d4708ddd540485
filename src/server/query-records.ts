import { type Checks, checkOptions } from '../base/check-options.ts'
import { wrongOption } from '../base/errors.ts'
import { readWhere } from '../models/conditions.ts'
import type { Where } from '../models/where.ts'
import { isObject } from '../protocol/json.ts'
import { isStorableName } from '../protocol/json-copy.ts'
import type { Log } from './log/log.ts'
import { type DataRecord, recordOf } from './record.ts'

/** The maximum number of records or owners that are read at once. */
const pageSize = 1_000

/** Which records of a type to read. */
export interface RecordQuery {
  /** Only records of this owner. @default all owners */
  readonly owner?: string | undefined
  /** Conditions on fields, as in a client's query. */
  readonly where?: Where<DataRecord> | undefined
  /** The maximum number of records. @default no limit */
  readonly limit?: number | undefined
  /** Only records whose ids come after this one. */
  readonly after?: string | undefined
}

const isText = (value: unknown) => typeof value === 'string'
const checks: Checks = {
  owner: [isText, 'a string'],
  where: [isObject, 'an object of conditions'],
  limit: [(value) => Number.isSafeInteger(value) && Number(value) >= 0, 'a whole number of 0 or more'],
  after: [isText, 'the id of a record'],
}

/**
 * The records of a type, in the order of their ids by code points. Reads a page at a time: each page is of one moment,
 * and later pages show later changes. Throws a ConfigurationError if the query is wrong.
 */
export function queryRecords(log: Log, type: string, query: RecordQuery = {}): AsyncIterable<DataRecord> {
  if (!isStorableName(type)) throw wrongOption('type', 'must be the name of a type.')
  checkOptions(query, checks)
  const { owner, where, limit = Number.POSITIVE_INFINITY, after = '' } = query
  const { accepts } = readWhere(where)
  return pages(log, { t: type, owner, after }, accepts, limit)
}

async function* pages(
  log: Log,
  { t, owner, after }: { readonly t: string; readonly owner: string | undefined; readonly after: string },
  accepts: ReturnType<typeof readWhere>['accepts'],
  limit: number,
): AsyncGenerator<DataRecord> {
  let left = limit
  for (let last = after; left > 0; ) {
    const page = await log.list({ t, owner, after: last, limit: pageSize })
    if (page.length === 0) return
    for (const { id, p } of page) {
      last = id
      if (!accepts({ id, p })) continue
      yield recordOf(id, p)
      left -= 1
      if (left === 0) return
    }
  }
}

/** The owners that have records, in order by code points. */
export async function* listOwners(log: Log): AsyncGenerator<string> {
  for (let last = ''; ; ) {
    const page = await log.owners(last, pageSize)
    yield* page
    const next = page.at(-1)
    if (next === undefined) return
    last = next
  }
}
