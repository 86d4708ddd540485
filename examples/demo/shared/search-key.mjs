/** A name as it is searched and sorted by: small letters and digits, without accents or punctuation. */
export function searchKey(name) {
  const plain = name
    .normalize('NFKD')
    .replace(/[\p{M}\p{Lm}]/gu, '')
    .toLowerCase()
  return plain.replace(/[^\p{L}\p{N}]+/gu, ' ').trim()
}
