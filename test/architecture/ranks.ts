/** The rooms by rank: a file imports its own room, or one of a lower rank. Never a neighbour of the same rank. */
export const ranks: Readonly<Record<string, number>> = {
  base: 0,
  protocol: 1,
  conformance: 2,
  models: 2,
  network: 2,
  storage: 2,
  persistence: 3,
  sqlite: 3,
  records: 4,
  tabs: 4,
  mutations: 5,
  engine: 6,
  client: 7,
  react: 8,
  'tanstack-db': 8,
  server: 8,
  testing: 9,
  cli: 10,
}

/** Pairs that their ranks would allow, and that must not be all the same. */
export const forbidden: readonly (readonly [from: string, to: string])[] = [
  ['records', 'persistence'],
  ['records', 'storage'],
  ['records', 'network'],
  ['react', 'records'],
  ['server', 'client'],
  ['server', 'engine'],
  ['server', 'records'],
  ['server', 'persistence'],
  ['server', 'storage'],
  ['server', 'network'],
]
