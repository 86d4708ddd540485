/** Options whose values are never `undefined`. */
export type Given<T> = { readonly [Name in keyof T]: Exclude<T[Name], undefined> }

/** `options` without the properties that are `undefined`: they count as left out. */
export function given<T extends object>(options: T): Given<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>
}
