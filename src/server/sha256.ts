import { createHash } from 'node:crypto'

/** The SHA-256 of `text` in UTF-8, in base64url: 43 characters that stand for it. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
