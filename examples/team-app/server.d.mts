export interface App {
  /** The address of the server, without a slash at the end. */
  readonly url: string
  /** Runs a statement in the application's database. Resolves with its rows. */
  readonly query: (
    text: string,
    values?: readonly unknown[],
  ) => Promise<readonly { readonly [column: string]: unknown }[]>
  close(): Promise<void>
}

export function start(options?: { readonly port?: number; readonly database?: string }): Promise<App>
