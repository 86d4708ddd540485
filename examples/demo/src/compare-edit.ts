import type { TouchedRecord, Transaction } from 'instep'
import { formatStars } from './format.ts'
import type { PlaceFields } from './write.ts'

/** The labels of the fields that users can write. */
export const fieldNames: { readonly [Field in keyof PlaceFields]-?: string } = {
  name: 'Name',
  country: 'Country',
  rating: 'Rating',
  note: 'Note',
}

type Field = keyof typeof fieldNames

/** A field of a place: before an edit (`base`), after the edit (`mine`), and on the server now (`theirs`). */
export interface ComparedField {
  readonly field: Field
  readonly base: string
  readonly mine: string
  readonly theirs: string
}

/** The fields that an edit changes. */
export function compareFields({ records }: Pick<Transaction, 'records'>): readonly ComparedField[] {
  const fields = Object.keys(fieldNames) as Field[]
  return records
    .filter(({ mine }) => mine)
    .flatMap((record) => fields.map((field) => textsOf(record, field)))
    .filter(({ base, mine }) => base !== mine)
}

/** Whether nobody else has changed the fields of a refused edit, so that a retry overwrites nothing. */
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
