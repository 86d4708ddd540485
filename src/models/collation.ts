import { wrongOption } from '../base/errors.ts'
import type { JsonValue } from '../protocol/json.ts'
import type { CollatedField, TextCondition } from './collated.ts'
import { Letters } from './letters.ts'
import { compareValues } from './values.ts'

/** The order of texts in a language, and the search in them. */
export interface Collation {
  /**
   * Orders by `field` as the language does. Values that are no strings are ordered as without a collation. Returns the
   * same object for the same field.
   */
  by<Field extends string>(field: Field): CollatedField<Field>
  /**
   * Returns a condition: the field is a string that includes `part`, or an array with an element that equals `part`.
   * Case and accents do not matter, unless the collation has a `sensitivity`. Compares letter by letter.
   */
  contains(part: string): TextCondition
}

/**
 * Returns a collation for `orderBy`, `where` and `indexes`, which uses `Intl.Collator` with `locales` and `options`.
 * Make one for each language and keep it: an index serves the queries that use the same collation. Throws a
 * ConfigurationError for a wrong locale or option.
 *
 * @example
 * const german = collation('de', { numeric: true })
 * client.query('Issue', { where: { title: german.contains('apfel') }, orderBy: german.by('title') })
 */
export function collation(locales?: string | string[], options: Intl.CollatorOptions = {}): Collation {
  const order = collator(locales, options)
  const letters = new Letters(collator(locales, { sensitivity: 'base', ...options }))
  const fields = new Map<string, CollatedField>()
  return {
    by<Field extends string>(field: Field) {
      const known = fields.get(field) ?? collatedField(field, order)
      fields.set(field, known)
      // The map's key is the name of its field, so this cast is safe.
      return known as CollatedField<Field>
    },
    contains: (part) => containing(part, letters),
  }
}

function collatedField<Field extends string>(field: Field, collator: Intl.Collator): CollatedField<Field> {
  const compare = (a: unknown, b: unknown) =>
    typeof a === 'string' && typeof b === 'string' ? collator.compare(a, b) : compareValues(a, b)
  return { compare, toString: () => field, toJSON: () => ({ field, ...collator.resolvedOptions() }) }
}

function containing(part: string, letters: Letters): TextCondition {
  const wanted = letters.of(part)
  const accepts = (value: JsonValue | undefined): boolean => {
    if (typeof value === 'string') return letters.of(value).includes(wanted)
    return (
      Array.isArray(value) && value.some((item) => typeof item === 'string' && letters.of(item) === wanted)
    )
  }
  return { accepts, toJSON: () => ({ part, ...letters.options }) }
}

function collator(locales: string | string[] | undefined, options: Intl.CollatorOptions): Intl.Collator {
  try {
    return new Intl.Collator(locales, options)
  } catch (cause) {
    throw wrongOption('collation', 'is refused by `Intl.Collator`.', { cause })
  }
}
