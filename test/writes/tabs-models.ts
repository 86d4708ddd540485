import * as z from 'zod/mini'
import { defineModels, model } from '../../src/index.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import type { TxOp } from '../../src/protocol/tx.ts'

const Note = z.looseObject({})

/** The option of a client with the models of an application whose each version notes itself in what it migrates. */
export function modelsOf(version: number, load: 'eager' | 'lazy' = 'eager'): object {
  const step = <T extends TxOp | WireRow>(value: T): T =>
    'p' in value ? { ...value, p: { ...value.p, version } } : value
  const options = version > 1 ? { version, migrate: { [version]: { row: step, op: step } } } : {}
  return { models: defineModels({ Note: model(Note, { load }) }, options) }
}
