import { describe, expect, test } from 'vitest'
import { PushBuffer } from '../../src/engine/push-buffer.ts'
import type { DeltaMessage } from '../../src/protocol/delta.ts'
import { readPush } from '../../src/protocol/push.ts'

const most = 2_000

/** A push with `count` rows or removals. */
function push(kind: 'rows' | 'frames', count: number): DeltaMessage {
  const item = { t: 'Issue', id: '1' }
  const items = Array.from({ length: count }, () =>
    kind === 'rows' ? { ...item, p: {} } : { ...item, sid: 1, op: 'd' },
  )
  const read = readPush(JSON.stringify({ sid: 1, [kind]: items }))
  if (read.kind !== 'delta') throw new Error('It is no delta.')
  return read.delta
}

describe('a push buffer', () => {
  test('counts a push that holds nothing, too', () => {
    const buffer = new PushBuffer()
    const heartbeat = push('frames', 0)
    for (let time = 0; time <= most; time += 1) buffer.add(heartbeat)
    expect(buffer.take().overflowed).toBe(true)
  })
})
