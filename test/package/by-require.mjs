// Loads the package as a test runner with modules of its own does: CommonJS by `require` alone, without `import()`.
import Module, { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { compileFunction } from 'node:vm'

Module.prototype._compile = function (code, filename) {
  const names = ['exports', 'require', 'module', '__filename', '__dirname']
  const run = compileFunction(code.replace(/^#!.*/, ''), names, { filename })
  const require = createRequire(filename)
  run.call(this.exports, this.exports, require, this, filename, dirname(filename))
}

const { mockSyncServer } = createRequire(import.meta.url)('instep/testing')
const server = mockSyncServer()
await server.write([{ op: 'i', t: 'Issue', id: 'i1', p: { title: 'Cable cut' } }], 'ada')
const client = server.client({ identity: 'ada' })
await client.start()
await server.settle()
console.log(client.get('Issue', 'i1')?.title)
await server.close()
