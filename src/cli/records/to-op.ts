import { toError } from '../../base/errors.ts'
import { isObject } from '../../protocol/json.ts'
import { isStorableName, maxNameLength } from '../../protocol/json-copy.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { checkOps } from '../../server/log/check-ops.ts'
import { isTooLong } from '../../server/log/check-size.ts'
import type { NumberedRecord } from './numbered-record.ts'

export interface OpRules {
  readonly type: string
  /** The field that holds the id. If it is `id`, it is not stored as a field of the record. */
  readonly idField: string
  readonly ownerField: string
  /** The owner of records that do not name one. */
  readonly owner: string | undefined
  readonly maxRecordBytes: number
  /** Whether existing records are replaced. */
  readonly replace: boolean
}

/** Why {@link isStorableName} refuses a name that is not empty. */
export const notStorable = `is longer than ${maxNameLength} characters or cannot be stored`

/** Returns the op that writes a record, or what is wrong with the record. */
export function toOp(numbered: NumberedRecord, rules: OpRules): TxOp | string {
  if ('fault' in numbered) return numbered.fault
  const { record } = numbered
  const { type, idField, ownerField, owner, maxRecordBytes, replace } = rules
  if (!isObject(record)) return 'is not a JSON object'
  const id = idOf(record[idField])
  if (id === undefined) return `has no id in its field ${idField}`
  const fields = Object.entries(record).filter(([name]) => name !== 'id' || idField !== 'id')
  const p = Object.fromEntries(fields)
  if (!Object.hasOwn(p, ownerField)) p[ownerField] = owner
  const named = p[ownerField]
  if (typeof named !== 'string' || named === '') return `has no owner in its field ${ownerField}`
  if (!isStorableName(named)) return `has an owner in its field ${ownerField} that ${notStorable}`
  try {
    const [op = ''] = checkOps([{ op: 'i', t: type, id, p, ...(replace ? { put: true } : undefined) }])
    return isTooLong(p, maxRecordBytes) ? `is longer than ${maxRecordBytes} bytes` : op
  } catch (error) {
    return faultOf(toError(error).message)
  }
}

/** Converts a message of {@link checkOps} about an op to one about a record. */
function faultOf(message: string): string {
  if (/ is not valid: /.test(message))
    return 'has a field with a name that no record can have, such as `__proto__`'
  return message.replace(/^The op at 0 /, '').replace(/\.$/, '')
}

function idOf(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}
