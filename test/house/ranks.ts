/** The rooms by rank: a file imports its own room, or one of a lower rank. Never a neighbour of the same rank. */
export const ranks: Readonly<Record<string, number>> = {
  base: 0,
  protocol: 1,
  models: 2,
  transport: 2,
  storage: 2,
  database: 3,
  sqlite: 3,
  replica: 4,
  outbox: 4,
  session: 5,
  sync: 6,
  tabs: 7,
  client: 8,
  react: 9,
  'tanstack-db': 9,
  inspector: 9,
  server: 9,
  testing: 10,
  cli: 11,
}

/** Pairs that their ranks would allow, and that must not be all the same. */
export const forbidden: readonly (readonly [from: string, to: string])[] = [
  ['replica', 'database'],
  ['replica', 'storage'],
  ['replica', 'transport'],
  ['react', 'sync'],
  ['react', 'replica'],
  ['tanstack-db', 'sync'],
  ['server', 'client'],
  ['server', 'sync'],
  ['server', 'replica'],
  ['server', 'database'],
  ['server', 'storage'],
  ['server', 'transport'],
]
