import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { SlowFirst } from './setup/order.ts'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

/**
 * What `npm run test:unit` leaves out, by `--mode unit`. All other tests are the unit tests: they need only Node and
 * `npm install`, and together they take less than a minute on two cores. List a new test here if it breaks that.
 */
const notUnit = [
  // Need browsers.
  'test/browser/**',
  'test/demo/**',
  'test/react/browser.test.ts',
  // Need PostgreSQL, or create databases with PGlite.
  'test/conformance/servers.test.ts',
  'test/interface/**',
  'test/server/{change-hook,limits}.test.ts',
  'test/server-auth/stores.test.ts',
  'test/server-fuzz/**',
  'test/server-processes/**',
  'test/server-sql/**',
  'test/server-tables/**',
  'test/writes/expired.test.ts',
  // Start other processes.
  'test/cli/{demo,import,key-set,restore,serve,tables,usage,without-jose}.test.ts',
  'test/network/scanner-memory.test.ts',
  'test/server/{node,upgrades}.test.ts',
  'test/sqlite/killed.test.ts',
  // Need `dist`.
  'test/examples/**',
  'test/package/**',
  // Take several seconds each.
  'test/conformance/{command,honest,wrong-servers}.test.ts',
  'test/**/*.property.test.ts',
  'test/architecture/globals.test.ts',
  'test/client/{first-rows,guards,herd,no-room,own-backend,pace}.test.ts',
  'test/docs/{examples,scheme}.test.ts',
  'test/persistence/{atomicity,model}.test.ts',
  'test/records/predicate-calls.test.ts',
  'test/server/{crowd,no-gap,one-record,ownership,realtime,serve,tx-input,tx-ownership}.test.ts',
  'test/server-auth/bad-tokens.test.ts',
  'test/simulation/simulation.test.ts',
  'test/sqlite/failures.test.ts',
  'test/writes/{storage,undo-kinds}.test.ts',
]

export default defineConfig(({ mode }) => ({
  root: path('..'),
  resolve: {
    alias: [
      { find: '#websocket', replacement: path('../src/base/websocket.node.ts') },
      { find: /^instep$/, replacement: path('../src/index.ts') },
      { find: /^instep\/(.+)$/, replacement: path('../src/$1/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    ...(mode === 'unit' && { exclude: notUnit }),
    // For what hangs: a test never shows by these how quick something is, and a busy machine is several times as slow.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000, interval: 20 } },
    // Twice as many as a small machine has cores: many tests wait for a browser, a database or a disk.
    maxWorkers: 4,
    sequence: { sequencer: SlowFirst },
    // No test changes what its process shares with others, and loading everything anew for each file doubles the time.
    isolate: false,
    // An unhandled rejection anywhere fails the run.
    dangerouslyIgnoreUnhandledErrors: false,
  },
}))
