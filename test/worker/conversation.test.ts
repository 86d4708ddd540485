import { expect, test } from 'vitest'
import { Conversation } from '../../src/worker/conversation.ts'
import type { WorkerLike } from '../../src/worker/index.ts'

function idleWorker(): WorkerLike {
  return { postMessage() {}, terminate() {}, onmessage: null, onerror: null, onmessageerror: null }
}

test('what a worker said before it failed is heard, and nothing of what comes after', async () => {
  const worker = idleWorker()
  const conversation = new Conversation(worker)
  const ready = { kind: 'ready', version: 1 }
  const late = { kind: 'ready', version: 2 }
  worker.onmessage?.(new MessageEvent('message', { data: ready }))
  worker.onmessageerror?.(new MessageEvent('messageerror'))
  worker.onmessage?.(new MessageEvent('message', { data: late }))
  expect(await conversation.next()).toEqual(ready)
  await expect(conversation.next()).rejects.toMatchObject({ name: 'NetworkError', code: 'unreachable' })
})
