import { timingSafeEqual } from 'node:crypto'
import type { Random } from '../../base/environment.ts'
import { sha256 } from '../sha256.ts'

const idBytes = 12
const proofBytes = 32

/** A secret as its holder has it: the name under which it is kept, which is none, and what only the holder knows. */
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

/** `undefined` for what {@link printSecret} has not made. */
export function readSecret(text: string): Secret | undefined {
  const [, id, proof] = /^([\w-]{16})\.([\w-]{43})$/.exec(text) ?? []
  return id === undefined || proof === undefined ? undefined : { id, proof }
}

/** What is kept of a proof, in base64url. It holds 256 random bits, so that a plain hash cannot be guessed back. */
export function hashOf(proof: string): string {
  return sha256(proof)
}

/** Whether `proof` has `hash`, in a time that tells nothing of either. */
export function proves(proof: string, hash: string): boolean {
  const kept = Buffer.from(hash, 'base64url')
  const given = Buffer.from(hashOf(proof), 'base64url')
  return kept.length === given.length && timingSafeEqual(kept, given)
}
