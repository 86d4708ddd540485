import type { MockSyncServer, VirtualClock } from 'instep/testing'

/** What the interface leaves open to a server, which then sends no epoch, no hello and no heartbeat. */
export interface Dialect {
  /** Where a snapshot has its `sid`. */
  readonly snapshotSid: 'first' | 'last'
  /** The `sid` of a snapshot: of the last change of all, or of the last change to a record that the snapshot has. */
  readonly snapshotTo: 'head' | 'rows'
  readonly delta: 'frames' | 'both'
  /** The `sid` of a delta: of the last change of all, or of its last frame. */
  readonly deltaSid: 'frames' | 'head'
  /** What is pushed for a change. */
  readonly push: 'nothing' | 'each frame' | 'frames' | 'delta' | 'sid' | 'hint'
}

interface Row {
  readonly t: string
  readonly id: string
}

interface Message {
  readonly sid: number
  readonly frames?: readonly (Row & { readonly sid: number })[]
}

const keyOf = ({ t, id }: Row) => `${t} ${id}`

/** Says what the service says in words that another server may use. */
export class Translator {
  readonly #dialect: Dialect
  readonly #server: MockSyncServer<VirtualClock>
  /** The `sid` of the last change to a record. */
  readonly #sidOf: (row: Row) => number

  constructor(dialect: Dialect, server: MockSyncServer<VirtualClock>, sidOf: (row: Row) => number) {
    this.#dialect = dialect
    this.#server = server
    this.#sidOf = sidOf
  }

  async response({ url }: Request, response: Response): Promise<Response> {
    const { pathname, searchParams } = new URL(url)
    if (!response.ok || pathname.endsWith('tx')) return response
    const body = await response.json()
    return pathname.endsWith('delta')
      ? this.#delta(body, Number(searchParams.get('since')))
      : this.#snapshot(body)
  }

  /** The messages for a message of the service. */
  pushes(text: string): readonly string[] {
    const { push } = this.#dialect
    const { sid, frames = [] }: Message = JSON.parse(text)
    if (push === 'nothing' || frames.length === 0) return []
    if (push === 'each frame') return frames.map((frame) => JSON.stringify(frame))
    return [JSON.stringify({ frames, delta: { sid, frames }, sid: { sid }, hint: { changed: true } }[push])]
  }

  #snapshot({ sid: head, rows }: { readonly sid: number; readonly rows: readonly Row[] }): Response {
    const { snapshotSid, snapshotTo } = this.#dialect
    const sid = snapshotTo === 'head' ? head : Math.max(0, ...rows.map((row) => this.#sidOf(row)))
    return Response.json(snapshotSid === 'first' ? { sid, rows } : { rows, sid })
  }

  async #delta({ sid: head, frames = [] }: Message, since: number): Promise<Response> {
    const { delta, deltaSid } = this.#dialect
    const sid = deltaSid === 'head' ? head : (frames.at(-1)?.sid ?? since)
    if (delta === 'frames') return Response.json({ sid, frames })
    const changed = new Set(frames.map(keyOf))
    const rows = (await this.#server.rows('ada')).filter((row) => changed.has(keyOf(row)))
    return Response.json({ sid, rows, frames })
  }
}
