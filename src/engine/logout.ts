import { type Check, checkOptions } from '../base/check-options.ts'
import type { Clock } from '../base/environment.ts'
import { isSyncError, PendingError } from '../base/errors.ts'
import type { Mutations } from '../mutations/mutations.ts'
import type { LocalTransaction } from '../mutations/transaction.ts'
import type { Disk } from '../persistence/disk.ts'
import type { SignedOut, SignOut } from '../persistence/sign-out.ts'
import type { Status } from './status.ts'

export interface LogoutOptions {
  /**
   * What to do with the transactions of all tabs that are unsent or rejected. `flush`: sends them first. `keep`: leaves
   * them on the device, for the next client of the same identity. `discard`: deletes them. @default `logout` rejects if
   * there are any
   */
  readonly pending?: 'flush' | 'keep' | 'discard' | undefined
  /** With `flush`, the maximum time for sending, in ms. @default 10_000 */
  readonly timeoutMs?: number | undefined
}

/** The result of a logout. Each number counts transactions of all tabs. */
export interface LogoutResult {
  /** Sent by `flush`. */
  readonly sent: number
  /** Kept by `keep`. */
  readonly kept: number
  /** Deleted by `discard`. The server may have some of them, if a request was under way. */
  readonly discarded: number
  /** How many of the kept or discarded transactions were rejected ones. */
  readonly rejected: number
  /** The number of tabs that did not answer, and may be frozen. They end as soon as they run again. */
  readonly silentTabs: number
}

export interface LogoutParts {
  readonly clock: Clock
  readonly newLife: () => string
  readonly disk: Disk
  readonly mutations: Mutations
  readonly status: () => Status
  /** Fetches, as `Engine.sync` does. */
  sync(): Promise<unknown>
  /** Ends this client and, by a message, the other tabs. Resolves with the number of tabs that have not ended. */
  end(): Promise<number>
  /** Deletes the database, unless another tab has it open. */
  readonly destroy: () => Promise<void>
}

/** The time between two checks for unsent transactions, in ms. */
const pollMs = 50

const expected: { readonly [Name in keyof Required<LogoutOptions>]: Check } = {
  pending: [
    (value) => value === 'flush' || value === 'keep' || value === 'discard',
    "'flush', 'keep' or 'discard'",
  ],
  timeoutMs: [(value) => typeof value === 'number' && value >= 0, 'a number of ms, 0 or more'],
}

/** See `SyncClient.logout`. */
export async function logout(parts: LogoutParts, options: LogoutOptions): Promise<LogoutResult> {
  checkOptions(options, expected, 'logout.')
  const { pending: choice, timeoutMs = 10_000 } = options
  const flushed = choice === 'flush' ? await flush(parts, timeoutMs) : undefined
  const { pending, rejected, isKept } =
    flushed ?? (await signOut(parts, choice === 'flush' ? undefined : choice))
  const silentTabs = await parts.end()
  // A process that did not answer may still write to the file of the database.
  if (!isKept && silentTabs === 0) await parts.destroy().catch(() => {})
  const count = pending + rejected
  return {
    sent: flushed?.sent ?? 0,
    kept: choice === 'keep' ? count : 0,
    discarded: choice === 'discard' ? count : 0,
    rejected,
    silentTabs,
  }
}

/**
 * Empties the database. Rejects with a PendingError, and changes nothing, if there are unsent or rejected transactions
 * and `pending` is `undefined`.
 */
async function signOut(
  { newLife, disk, mutations }: LogoutParts,
  pending: SignOut['pending'],
): Promise<SignedOut> {
  await disk.ready()
  await mutations.settled()
  const { accepted } = mutations
  return disk.signOut({ life: newLife(), pending, own: () => mutations.own(disk.isOpen), accepted })
}

/** Sends everything, then empties the database. `sent`: the number of transactions that the server has accepted. */
async function flush(parts: LogoutParts, timeoutMs: number): Promise<SignedOut & { readonly sent: number }> {
  const { clock, mutations, status, sync } = parts
  const end = clock.now() + timeoutMs
  const seen = new Set<LocalTransaction>(mutations.unsent)
  const canWait = () => {
    const { lifecycle, connection } = status()
    return lifecycle === 'running' && connection.state !== 'offline' && clock.now() < end
  }
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve))
  // A fetch shows whether the server is reachable, which sending requires.
  await Promise.race([sync().catch(() => {}), wait(timeoutMs)])
  for (;;) {
    mutations.readAgain()
    do {
      for (const transaction of mutations.unsent) seen.add(transaction)
      await wait(pollMs)
    } while (mutations.unsent.length > 0 && canWait())
    try {
      const signedOut = await signOut(parts, undefined)
      const sent = [...seen].filter(({ state }) => state === 'accepted' || state === 'synced').length
      return { ...signedOut, sent }
    } catch (error) {
      // Another tab has written a transaction meanwhile: send it, too.
      if (!isSyncError(error, 'PendingError')) throw error
      const { pending, rejected } = error
      if (pending > 0 && canWait()) continue
      const isOffline = pending > 0 && status().connection.state === 'offline'
      const why = isOffline ? 'the client is offline; ' : ''
      throw new PendingError(pending, rejected, `${why}call \`logout\` with 'keep' or 'discard', or later`)
    }
  }
}
