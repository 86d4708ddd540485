/** Between two items of an answer: a client that finds the one's end by it need not follow it. See `lines` in `docs/protocol.md`. */
export const separator = '\n,'
