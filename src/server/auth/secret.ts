import { timingSafeEqual } from 'node:crypto'
import type { Random } from '../../base/environment.ts'
import { sha256 } from '../sha256.ts'

const idBytes = 12
const proofBytes = 32

/**
 * The two parts of a secret: `id`, by which the row is found and which is not secret, and `proof`, which only the
 * holder has.
 */
export interface Secret {
  readonly id: string
  readonly proof: string
}

export function makeSecret(random: Random): Secret {
  const text = (bytes: number) => Buffer.from(random.bytes(bytes)).toString('base64url')
  return { id: text(idBytes), proof: text(proofBytes) }
}

export function printSecret({ id, proof }: Secret): string {
  return `${id}.${proof}`
}

/** Parses a secret. Returns `undefined` for anything that {@link printSecret} cannot return. */
export function readSecret(text: string): Secret | undefined {
  const [, id, proof] = /^([\w-]{16})\.([\w-]{43})$/.exec(text) ?? []
  return id === undefined || proof === undefined ? undefined : { id, proof }
}

/** The stored hash of a proof, in base64url. A proof has 256 random bits, so a plain hash is safe from guessing. */
export function hashOf(proof: string): string {
  return sha256(proof)
}

/** Whether `proof` has the hash `hash`, compared in constant time. */
export function hasHash(proof: string, hash: string): boolean {
  const kept = Buffer.from(hash, 'base64url')
  const sent = Buffer.from(hashOf(proof), 'base64url')
  return kept.length === sent.length && timingSafeEqual(kept, sent)
}
