import type { BareFrame, OwnedFrame } from './bare-server-data.ts'

/** The server's hold on one socket. */
export interface BarePeer {
  send(text: string): void
  close(code: number, reason: string): void
  /** Ends it without a word, so that the other side sees 1006. */
  drop(): void
}

/**
 * What is pushed on each write, none of it with a `since`: nothing; each frame alone; an array of frames; a delta;
 * the position alone; or JSON that means nothing here. The interface shows no message of the socket.
 */
export type PushShape = 'none' | 'frame' | 'frames' | 'delta' | 'sid' | 'hint'

/** A message that waits to be sent: sent twice it is a duplicate, never sent it is lost. */
export interface HeldPush {
  readonly owner: string
  readonly text: string
  send(): void
}

export class BareSockets {
  readonly #open = new Map<BarePeer, string>()
  /** How many have been opened so far. */
  opened = 0
  /** Accepts sockets and says nothing on any. */
  silent = false

  /** How many are open, of `owner` or of all. */
  count(owner?: string): number {
    return [...this.#open.values()].filter((own) => owner === undefined || own === owner).length
  }

  /** Gives what to call when the socket is gone. */
  add(owner: string, peer: BarePeer): () => void {
    this.#open.set(peer, owner)
    this.opened += 1
    return () => this.#open.delete(peer)
  }

  /** Sends any text, JSON or not, on every socket of `owner`. */
  send(owner: string, text: string): void {
    if (this.silent) return
    for (const [peer, own] of [...this.#open]) if (own === owner) peer.send(text)
  }

  /** Ends all of them, without a word or with a code. */
  end(code?: number): void {
    for (const peer of [...this.#open.keys()]) {
      if (code === undefined) peer.drop()
      else peer.close(code, '')
    }
  }
}

/** The messages that one write makes. */
export function pushesOf(
  written: readonly OwnedFrame[],
  shape: PushShape,
): { owner: string; message: unknown }[] {
  if (shape === 'none') return []
  if (shape === 'frame') return written.map(({ owner, frame }) => ({ owner, message: frame }))
  const framesByOwner = new Map<string, BareFrame[]>()
  for (const { owner, frame } of written)
    framesByOwner.set(owner, [...(framesByOwner.get(owner) ?? []), frame])
  return [...framesByOwner].map(([owner, frames]) => {
    const sid = Math.max(...frames.map((frame) => frame.sid))
    return {
      owner,
      message: { frames, delta: { sid, frames }, sid: { sid }, hint: { changed: true } }[shape],
    }
  })
}
