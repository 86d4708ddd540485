import type { TouchedRecord, Transaction } from 'instep'
import { formatStars } from './format.ts'
import type { PlaceFields } from './write.ts'

/** The fields that users write, by the names that they know them by. */
export const fieldNames: { readonly [Field in keyof PlaceFields]-?: string } = {
  name: 'Name',
  country: 'Country',
  rating: 'Rating',
  note: 'Note',
}

type Field = keyof typeof fieldNames

/** A field of a place as it was before an edit, as the edit makes it, and as the server has it now. */
export interface ComparedField {
  readonly field: Field
  readonly base: string
  readonly mine: string
  readonly theirs: string
}

/** What an edit writes that was not so before, field by field. */
export function compareFields({ records }: Pick<Transaction, 'records'>): readonly ComparedField[] {
  const fields = Object.keys(fieldNames) as Field[]
  return records
    .filter(({ mine }) => mine)
    .flatMap((record) => fields.map((field) => textsOf(record, field)))
    .filter(({ base, mine }) => base !== mine)
}

/** Whether nobody else has touched what a refused edit changes: made again, it takes nothing from anybody. */
export function isDisjoint({ records }: Pick<Transaction, 'records'>): boolean {
  const areThere = records.every(({ base, mine, theirs }) => base && mine && theirs)
  return areThere && compareFields({ records }).every(({ base, theirs }) => base === theirs)
}

function textsOf({ base, mine, theirs }: TouchedRecord, field: Field): ComparedField {
  const textOf = (payload: TouchedRecord['base']) => formatField(payload?.[field])
  return { field, base: textOf(base), mine: textOf(mine), theirs: textOf(theirs) }
}

function formatField(value: unknown): string {
  if (typeof value === 'number') return formatStars(value) || '–'
  return typeof value === 'string' && value !== '' ? value : '–'
}
