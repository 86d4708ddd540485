import type { Check, Checks } from '../base/check-options.ts'
import type { Clock } from '../base/environment.ts'
import type { SyncFrame } from '../protocol/frame.ts'
import type { WireRow } from '../protocol/row.ts'
import { isNumber, oneOf } from './checks.ts'

/** How a server without the extensions of the protocol speaks. */
export interface BareOptions {
  /** What a delta contains. @default 'frames' */
  readonly deltas?: 'frames' | 'rows'
  /**
   * What is pushed for a change: all frames in one message, each frame in a message of its own, the whole rows (which
   * show no removal), or the `sid` alone. @default 'frames'
   */
  readonly pushes?: 'frames' | 'frame' | 'rows' | 'sid'
  /**
   * How long after the response to its transaction a change is pushed, in ms. If it is negative, the response comes that
   * much later than the push. @default 0
   */
  readonly pushAfterMs?: number
  /** Whether there is a socket. @default true */
  readonly socket?: boolean
  /** Whether frames name their transaction. @default false */
  readonly tx?: boolean
  /** Whether pushes have `since`. @default false */
  readonly since?: boolean
}

const isFlag: Check = [(value) => typeof value === 'boolean', 'true or false']

export const bareChecks: Checks = {
  deltas: oneOf(['frames', 'rows']),
  pushes: oneOf(['frames', 'frame', 'rows', 'sid']),
  pushAfterMs: isNumber,
  socket: isFlag,
  tx: isFlag,
  since: isFlag,
} satisfies Record<keyof BareOptions, Check>

/** Returns the rows that `identity` has. */
export type RowsOf = (identity: string) => Promise<readonly WireRow[]>

interface Message {
  readonly since?: number
  readonly sid: number
  readonly frames: readonly SyncFrame[]
}

/** Translates what the service sends into the messages of a server without the extensions. */
export class BareServer {
  readonly #options: BareOptions
  readonly #clock: Pick<Clock, 'after'>
  readonly #rowsOf: RowsOf

  constructor(options: BareOptions, clock: Pick<Clock, 'after'>, rowsOf: RowsOf) {
    this.#options = options
    this.#clock = clock
    this.#rowsOf = rowsOf
  }

  get hasSocket(): boolean {
    return this.#options.socket !== false
  }

  /** The response to a request of `identity`, without the extensions. */
  async response(endpoint: string, identity: string | undefined, response: Response): Promise<Response> {
    if (!response.ok) return response
    const { sid, rows, frames, results } = await response.json()
    if (results) return Response.json({ sid, results })
    if (rows) return Response.json({ sid, rows })
    return endpoint === 'delta' ? Response.json(await this.#delta(identity, { sid, frames })) : response
  }

  /** Resolves when the response to a transaction is due. */
  async responseDue(endpoint: string): Promise<void> {
    const { pushAfterMs = 0 } = this.#options
    if (endpoint === 'tx' && pushAfterMs < 0) await this.#wait(-pushAfterMs)
  }

  /** Calls `send` with the messages for a push of the service, when they are due and in the order of the pushes. */
  pushTo(identity: string | undefined, send: (text: string) => void): (text: string) => void {
    let last: Promise<unknown> = Promise.resolve()
    return (text) => {
      const messages = this.#pushes(identity, JSON.parse(text))
      const due = this.#pushDue()
      last = Promise.all([messages, due, last]).then(([texts]) => texts.forEach(send))
    }
  }

  async #pushDue(): Promise<void> {
    const { pushAfterMs = 0 } = this.#options
    if (pushAfterMs > 0) await this.#wait(pushAfterMs)
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.after(ms, resolve)
    })
  }

  async #delta(identity: string | undefined, { sid, frames }: Message): Promise<object> {
    if (this.#options.deltas === 'rows') return { sid, rows: await this.#rows(identity, frames) }
    return { sid, frames: this.#options.tx ? frames : withoutReplaced(frames).map(withoutTx) }
  }

  async #pushes(identity: string | undefined, { since, sid, frames = [] }: Message): Promise<string[]> {
    const { pushes = 'frames', tx } = this.#options
    const first = this.#options.since ? { since } : {}
    // A heartbeat, and the hello, are extensions.
    if (frames.length === 0) return []
    if (pushes === 'sid') return [JSON.stringify({ sid })]
    if (pushes === 'rows')
      return [JSON.stringify({ ...first, sid, rows: await this.#rows(identity, frames) })]
    const sent = tx ? frames : frames.map(withoutTx)
    if (pushes === 'frame') {
      const before = (index: number) => (index === 0 ? since : frames[index - 1]?.sid)
      return sent.map((frame, index) =>
        JSON.stringify(
          this.#options.since ? { since: before(index), sid: frame.sid, frames: [frame] } : frame,
        ),
      )
    }
    return [JSON.stringify(this.#options.since ? { since, sid, frames: sent } : sent)]
  }

  /** The rows of `identity` that `frames` change and that are there now. */
  async #rows(identity: string | undefined, frames: readonly SyncFrame[]): Promise<readonly WireRow[]> {
    const changed = new Set(frames.map(keyOf))
    const rows = identity === undefined ? [] : await this.#rowsOf(identity)
    return rows.filter((row) => changed.has(keyOf(row)))
  }
}

const keyOf = ({ t, id }: SyncFrame | WireRow) => JSON.stringify([t, id])

function withoutTx({ tx: _, ...frame }: SyncFrame): SyncFrame {
  return frame
}

/** The frames without those of which only the `tx` counts, because a later frame replaces or removes the record. */
function withoutReplaced(frames: readonly SyncFrame[]): readonly SyncFrame[] {
  return frames.filter(
    (frame, index) =>
      frame.op !== 'd' ||
      !frames.slice(index + 1).some((later) => later.op !== 'u' && keyOf(later) === keyOf(frame)),
  )
}
