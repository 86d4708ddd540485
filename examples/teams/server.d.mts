export interface App {
  /** The address of the server, without a slash at the end. */
  readonly url: string
  close(): Promise<void>
}

export function start(options?: { readonly port?: number; readonly database?: string }): Promise<App>
