/**
 * Something that the other side should not have sent, or that breaks the application's model. It is told, and
 * syncing goes on: what `kind` names is left out or kept as `docs/protocol.md` says.
 */
export interface Anomaly {
  readonly kind:
    | 'row' // a row of a snapshot or delta that is none: left out
    | 'frame' // a frame that is none: one bootstrap follows; still there after it, it is skipped
    | 'push' // a message on the socket that is not JSON: ignored
    | 'unknown_record' // a `u` for a record that the client does not have: one bootstrap follows
    | 'count' // a snapshot whose `count` differs from its rows, twice
    | 'model' // a stored payload that breaks its model: kept
  /** One sentence, without any value of the record. */
  readonly message: string
  readonly type?: string | undefined
  readonly id?: string | undefined
  readonly sid?: number | undefined
}
