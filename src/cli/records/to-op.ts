import { toError } from '../../base/errors.ts'
import { isObject } from '../../protocol/json.ts'
import { isStorableName, maxNameLength } from '../../protocol/json-copy.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { checkOps } from '../../server/log/check-ops.ts'
import { isTooLong } from '../../server/log/check-size.ts'
import type { Numbered } from './numbered.ts'

export interface OpRules {
  readonly type: string
  /** The field that holds the id. One that is called `id` is no field of the record. */
  readonly idField: string
  readonly ownerField: string
  /** Whose a record is that does not say it. */
  readonly owner: string | undefined
  readonly maxRecordBytes: number
  /** Whether a record that is there already is replaced. */
  readonly replace: boolean
}

/** What is wrong with a name that {@link isStorableName} refuses, but for an empty one. */
export const notStorable = `is longer than ${maxNameLength} characters or cannot be stored`

/** The op that writes a record, or what is wrong with it. */
export function toOp(numbered: Numbered, rules: OpRules): TxOp | string {
  if ('fault' in numbered) return numbered.fault
  const { record } = numbered
  const { type, idField, ownerField, owner, maxRecordBytes, replace } = rules
  if (!isObject(record)) return 'is no record, in braces'
  const id = idOf(record[idField])
  if (id === undefined) return `has no id in its field ${idField}`
  const fields = Object.entries(record).filter(([name]) => name !== 'id' || idField !== 'id')
  const p = Object.fromEntries(fields)
  if (!Object.hasOwn(p, ownerField)) p[ownerField] = owner
  const named = p[ownerField]
  if (typeof named !== 'string' || named === '') return `names no owner in its field ${ownerField}`
  if (!isStorableName(named)) return `names in its field ${ownerField} an owner that ${notStorable}`
  try {
    const [op = ''] = checkOps([{ op: 'i', t: type, id, p, ...(replace ? { put: true } : undefined) }])
    return isTooLong(p, maxRecordBytes) ? `is longer than ${maxRecordBytes} bytes` : op
  } catch (error) {
    return faultOf(toError(error).message)
  }
}

/** What {@link checkOps} says of an op, said of a record. */
function faultOf(message: string): string {
  if (/is no op/.test(message)) return 'has a name among its fields that no record can have, as `__proto__`'
  return message.replace(/^The op at 0 /, '').replace(/\.$/, '')
}

function idOf(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}
