export interface App {
  /** Without a slash at its end. */
  readonly url: string
  close(): Promise<void>
}

export function start(options: {
  readonly secret: string
  readonly port?: number
  readonly database?: string
}): Promise<App>
