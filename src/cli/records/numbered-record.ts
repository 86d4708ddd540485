/** A record of a file, or the reason why it cannot be read, with the line on which it begins, from 1. */
export type NumberedRecord = { readonly line: number } & (
  | { readonly record: unknown }
  | { readonly fault: string }
)

/** A text in pieces. */
export type Chunks = AsyncIterable<string>
