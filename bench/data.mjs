// The data that every contender gets: five types, about 440 bytes a row, the same in every run.

export const types = ['Issue', 'Comment', 'Project', 'User', 'Label']

const words = 'sync local copy row page delta frame socket store query index cursor epoch batch token'.split(
  ' ',
)

/** A row of the snapshot; `n` decides all of it. */
export function rowOf(n) {
  const word = (k) => words[(n * 7 + k * 13) % words.length]
  const text = Array.from({ length: 40 }, (_, k) => word(k)).join(' ')
  return {
    t: types[n % types.length],
    id: `r${String(n).padStart(7, '0')}`,
    v: 1,
    p: {
      title: `${word(1)} ${word(2)} ${n}`,
      status: n % 3 === 0 ? 'open' : 'closed',
      projectId: `p${n % 97}`,
      createdAt: 1_700_000_000_000 + ((n * 7919) % 1_000_003) * 1_000,
      points: n % 21,
      done: n % 2 === 0,
      text,
    },
  }
}

/** The text of a snapshot of `count` rows, at position `count`. */
export function snapshotOf(count) {
  const rows = Array.from({ length: count }, (_, n) => JSON.stringify(rowOf(n)))
  return `{"sid":${count},"count":${count},"lines":true,"rows":[${rows.join('\n,')}\n]}`
}
