import { loadPeer } from '../optional-peer.ts'

/** Rejects with a ConfigurationError if the package is missing. */
export function loadJose() {
  return loadPeer('jose', () => import('jose'))
}
