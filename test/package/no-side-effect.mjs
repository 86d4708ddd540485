// Imports the package with every global that could have an effect trapped, and says which one was touched.
const trapped = [
  'fetch',
  'WebSocket',
  'indexedDB',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'addEventListener',
  'navigator',
  'localStorage',
  'BroadcastChannel',
]
const touched = []
const globalsBefore = Object.getOwnPropertyNames(globalThis)

for (const name of trapped) {
  const value = globalThis[name]
  Object.defineProperty(globalThis, name, {
    configurable: true,
    get() {
      // Node's own loader may do what it likes.
      if (/\/dist\//.test(new Error('touched').stack ?? '')) touched.push(name)
      return value
    },
  })
}
const before = process.listenerCount('exit') + process.listenerCount('uncaughtException')

await Promise.all([import('instep'), import('instep/server')])

const after = process.listenerCount('exit') + process.listenerCount('uncaughtException')
// zod keeps a registry of its own there.
const added = Object.getOwnPropertyNames(globalThis).filter(
  (name) => !globalsBefore.includes(name) && !trapped.includes(name) && !name.startsWith('__zod_'),
)
console.log(JSON.stringify({ touched, added, listeners: after - before }))
