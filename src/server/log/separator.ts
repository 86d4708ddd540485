/**
 * Separates two items of a response. With a line feed before each item, a client can find the end of an item without
 * parsing. See `lines` in `docs/protocol.md`.
 */
export const separator = '\n,'
