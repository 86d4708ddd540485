import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readDelta } from '../../src/protocol/delta.ts'
import { readPush } from '../../src/protocol/push.ts'
import { bootstrapResultSchema } from '../../src/protocol/schema/bootstrap.ts'
import { deltaResultSchema } from '../../src/protocol/schema/delta.ts'
import { errorBodySchema } from '../../src/protocol/schema/error-body.ts'
import { syncFrameSchema } from '../../src/protocol/schema/frame.ts'
import { wireRowSchema } from '../../src/protocol/schema/row.ts'
import { txRequestSchema, txResponseSchema } from '../../src/protocol/schema/tx.ts'

const checks: Readonly<Record<string, (value: unknown) => unknown>> = {
  row: (value) => wireRowSchema.parse(value),
  frame: (value) => syncFrameSchema.parse(value),
  bootstrap: (value) => bootstrapResultSchema.parse(value),
  delta: (value) => [deltaResultSchema.parse(value), readDelta(value)],
  push: (value) => expect(readPush(JSON.stringify(value)).kind).toMatch(/^(hello|delta)$/),
  error: (value) => errorBodySchema.parse(value),
  'tx request': (value) => txRequestSchema.parse(value),
  'tx response': (value) => txResponseSchema.parse(value),
}

/** The examples of a document. */
function examplesIn(document: string): readonly { readonly kind: string; readonly json: string }[] {
  const text = readFileSync(new URL(`../../docs/${document}`, import.meta.url), 'utf8')
  return [...text.matchAll(/```json (.+)\n([\s\S]+?)```/g)].map(([, kind = '', json = '']) => ({
    kind,
    json,
  }))
}

function isOne({ kind, json }: { readonly kind: string; readonly json: string }): void {
  const check = checks[kind]
  expect(check).toBeDefined()
  check?.(JSON.parse(json))
}

describe('the protocol document', () => {
  const examples = examplesIn('protocol.md')

  test('has an example of every message', () => {
    expect(new Set(examples.map(({ kind }) => kind))).toEqual(new Set(Object.keys(checks)))
  })

  test.each(examples)('shows a $kind that is one', isOne)
})

describe('the document for servers of your own', () => {
  const examples = examplesIn('own-backend.md')

  test('has an example of every body', () => {
    const bodies = ['bootstrap', 'delta', 'push', 'tx request', 'tx response']
    expect(examples.map(({ kind }) => kind)).toEqual(bodies)
  })

  test.each(examples)('shows a $kind that is one', isOne)
})
