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
    testTimeout: 20_000,
    // By default one core stays idle, which of two is a half: many tests wait for a browser or a database.
    maxWorkers: 2,
    // An unhandled rejection anywhere fails the run.
    dangerouslyIgnoreUnhandledErrors: false,
  },
})
