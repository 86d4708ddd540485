/** What is measured of each library. Every promise resolves once the data is durable, where the library can tell. */
export interface Contender {
  /** Fetches the snapshot and stores it. */
  firstSync(url: string): Promise<void>
  /** Opens what is stored, so that any row can be read. Resolves with how many there are. */
  startUp(url: string): Promise<number>
  /** Applies and stores a delta: the text of a {@link Delta}, and its bytes, as they come from a server. */
  delta(text: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>
  /** Applies one that comes by itself. @default `delta` */
  push?(text: string): void
  /**
   * Keeps the 50 newest open issues; `told` is called whenever they have changed, and `applied`, where the library can
   * tell, once the change is in its copy.
   */
  watch(told: () => void, applied: () => void): Promise<void>
}

export interface Delta {
  readonly since: number
  readonly sid: number
  readonly frames: readonly Frame[]
}

export interface Frame {
  readonly sid: number
  readonly op: 'u'
  readonly t: string
  readonly id: string
  readonly p: { readonly [field: string]: string | number | boolean }
}

export interface Row {
  readonly t: string
  readonly id: string
  readonly p: { readonly [field: string]: string | number | boolean }
}
