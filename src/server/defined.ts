/** Options whose values are never `undefined`. */
export type Defined<T> = { readonly [Name in keyof T]: Exclude<T[Name], undefined> }

/** `options` without the properties that are `undefined`: they count as left out. */
export function defined<T extends object>(options: T): Defined<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Defined<T>
}
