/**
 * Run as a process of its own: passes 300 MB through a scanner, in the shape named on the command line, and prints
 * the most memory that JavaScript held meanwhile, in MB.
 */
import { SnapshotScanner } from '../../src/network/scanner.ts'

const mb = 2 ** 20
const total = 300 * mb
const encode = (text: string) => new TextEncoder().encode(text)

function* repeated(text: string, bytes: number): Generator<Uint8Array> {
  const one = encode(text)
  const chunk = encode(text.repeat(Math.ceil((64 * 1024) / one.length)))
  for (let sent = 0; sent < bytes; sent += chunk.length) yield chunk.slice()
}

const shapes: Record<string, () => Generator<Uint8Array>> = {
  *rows() {
    yield encode('{"rows":[0')
    yield* repeated(`,{"t":"Issue","id":"i","v":1,"p":{"body":"${'lorem ipsum '.repeat(30)}"}}`, total)
    yield encode('],"sid":1}')
  },
  *'large rows'() {
    yield encode('{"rows":[0')
    for (let sent = 0; sent < total; sent += 15 * mb) {
      yield encode(',{"t":"Issue","id":"i","v":1,"p":{"body":"')
      yield* repeated('x', 15 * mb)
      yield encode('"}}')
    }
    yield encode('],"sid":1}')
  },
  *'rows too deep'() {
    yield encode('{"rows":[0')
    yield* repeated(`,{"t":"Issue","id":"i","p":{}},${'['.repeat(600)}${']'.repeat(600)}`, total)
    yield encode('],"sid":1}')
  },
  *'an unknown string'() {
    yield encode('{"sid":1,"other":"')
    yield* repeated('lorem \\" ipsum ', total)
    yield encode('","rows":[]}')
  },
  *'an unknown array'() {
    yield encode('{"sid":1,"other":[0')
    yield* repeated(',{"a":[1,2,3]}', total)
    yield encode('],"rows":[]}')
  },
  *'an endless key'() {
    yield encode('{"sid":1,"')
    yield* repeated('lorem ipsum ', total)
    yield encode('":0,"rows":[]}')
  },
}

let most = 0
const measure = () => {
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  most = Math.max(most, heapUsed + arrayBuffers)
}
const scanner = new SnapshotScanner(16 * mb, () => {})
let chunks = 0
for (const chunk of shapes[process.argv[2] ?? '']?.() ?? []) {
  scanner.push(chunk)
  chunks += 1
  if (chunks % 50 === 0) measure()
}
scanner.end()
process.stdout.write(String(Math.ceil(most / mb)))
