/**
 * Something that the server should not have sent, or a record that breaks the application's model. It is reported, and
 * syncing continues: docs/protocol.md says for each `kind` what is left out or kept.
 */
export interface Anomaly {
  readonly kind:
    | 'row' // an item of a snapshot or delta is not a row: it is left out
    | 'frame' // a frame is not valid: one bootstrap follows; if it comes again after that, it is skipped
    | 'push' // a message on the socket is not JSON: it is ignored
    | 'unknown_record' // a `u` for a record that the client does not have: one bootstrap follows
    | 'count' // the `count` of a snapshot differs from its number of rows, twice: it is used all the same
    | 'model' // a record breaks its model: it is kept
  /** One sentence, without values of the record. */
  readonly message: string
  readonly type?: string | undefined
  readonly id?: string | undefined
  readonly sid?: number | undefined
}
