/** A record of a file, or why there is none, and the line on which it begins, from 1. */
export type Numbered = { readonly line: number } & ({ readonly record: unknown } | { readonly fault: string })

/** The pieces of a text that comes in chunks. */
export type Chunks = AsyncIterable<string>
