import { createHash } from 'node:crypto'

/** 43 characters that stand for `text`. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
