import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

export default defineConfig({
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
    // For what hangs: a test never shows by these how quick something is, and a busy machine is several times as slow.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000, interval: 20 } },
    // By default one core stays idle, which of two is a half: many tests wait for a browser or a database.
    maxWorkers: 2,
    // No test changes what its process shares with others, and loading everything anew for each file doubles the time.
    isolate: false,
    // An unhandled rejection anywhere fails the run.
    dangerouslyIgnoreUnhandledErrors: false,
  },
})
