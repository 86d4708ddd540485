import { defaultRecordBytes, maxRecordBytes } from '../server/log/check-size.ts'
import type { Settings } from './settings.ts'

export const maxRecordBytesOption = {
  about: `The maximum length of a record, in bytes of JSON (${defaultRecordBytes})`,
  value: 'number',
}

export function maxRecordBytesIn(settings: Settings): number {
  return settings.integer('max-record-bytes', 1, maxRecordBytes) ?? defaultRecordBytes
}
