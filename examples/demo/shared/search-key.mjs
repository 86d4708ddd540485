/** The form of a name for searching and sorting: lower-case letters and digits, without accents or punctuation. */
export function searchKey(name) {
  const plain = name
    .normalize('NFKD')
    .replace(/[\p{M}\p{Lm}]/gu, '')
    .toLowerCase()
  return plain.replace(/[^\p{L}\p{N}]+/gu, ' ').trim()
}
