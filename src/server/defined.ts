/** Options as they are when those that are `undefined` are left out. */
export type Given<T> = { readonly [Name in keyof T]: Exclude<T[Name], undefined> }

/** `options` without those that are `undefined`, which count as left out. */
export function given<T extends object>(options: T): Given<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>
}
