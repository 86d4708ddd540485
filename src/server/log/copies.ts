import type { JsonValue, Payload } from '../../protocol/json.ts'
import { ModelChecks } from './check-model.ts'
import { bytesOf } from './check-size.ts'

interface Copy {
  readonly p: { [field: string]: JsonValue }
  /** How long it is; unknown until it is changed. */
  bytes: number | undefined
}

/** What fields make of a payload. */
export interface Merged {
  readonly p: Payload
  /** How long the payload was and is, in bytes of JSON, where that is known, or else the payloads. */
  readonly was: Payload | number | undefined
  readonly is: Payload | number
}

/**
 * The copies of payloads that one write makes, which nobody else knows before it is done. So a payload is copied once,
 * however many ops change it, and each costs what it changes itself.
 */
export class Copies {
  /** Of what it makes, to be run once it is done. */
  readonly checks = new ModelChecks()
  readonly #own = new Map<Payload, Copy>()

  merge(p: Payload | undefined, fields: Payload): Merged {
    const own = p && this.#own.get(p)
    if (!own) {
      const copy = { ...p, ...fields }
      this.#own.set(copy, { p: copy, bytes: undefined })
      return { p: copy, was: p, is: copy }
    }
    const was = own.bytes ?? bytesOf(own.p)
    own.bytes = was
    for (const [field, value] of Object.entries(fields)) own.bytes += put(own.p, own.bytes, field, value)
    return { p: own.p, was, is: own.bytes }
  }

  /** From now on others know `p` too: whoever changes it makes another copy. */
  share(p: Payload): void {
    this.#own.delete(p)
  }
}

/** Puts `value` into `p`, which is `bytes` long, and gives by how much longer it is then. */
function put(p: Copy['p'], bytes: number, field: string, value: JsonValue): number {
  const before = Object.hasOwn(p, field) ? p[field] : undefined
  p[field] = value
  if (before !== undefined) return bytesOf(value) - bytesOf(before)
  const comma = bytes > '{}'.length ? 1 : 0
  return bytesOf(field) + ':'.length + bytesOf(value) + comma
}
