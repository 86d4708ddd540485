import { peer } from '../optional-peer.ts'

/** Rejects with a ConfigurationError if the package is missing. */
export function loadJose() {
  return peer('jose', () => import('jose'))
}
