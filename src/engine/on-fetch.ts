import type { SyncError } from '../base/errors.ts'
import { isServiceResponse } from '../network/failure.ts'
import type { FetchListener } from './fetcher.ts'
import { openAgain } from './on-push.ts'
import type { Parts } from './parts.ts'
import type { SyncResult } from './sync-result.ts'

/**
 * Fetches one bootstrap or delta. A tab that follows reads the disk in place of the server. `asked`: the application
 * asked for it.
 */
export async function fetchChanges(parts: Parts, signal: AbortSignal, asked: boolean): Promise<SyncResult> {
  const { options, state, disk, polls, feed, following, fetcher } = parts
  await disk.ready()
  signal.throwIfAborted()
  const isSuspicious = polls.began()
  feed.began()
  const read = following.leader ? await readStored(parts) : undefined
  signal.throwIfAborted()
  const result =
    read ??
    (await fetcher.fetch(signal, asked).finally(() => {
      state.progress = undefined
    }))
  if (signal.aborted) return result
  if (isSuspicious && result.changes > 0) openAgain(parts)
  if (!read) {
    onReached(parts)
    state.hasFetched = true
    state.inStepAt = options.environment.clock.now()
    feed.fetched(result.kind)
  }
  polls.fetched(result.sid)
  return result
}

/** Handles the events of a fetch from the server. */
export function onFetching(parts: Parts): FetchListener {
  const { state } = parts
  return {
    progress(progress) {
      state.progress = progress
      if (!state.isReached) onReached(parts)
      parts.commit.mark()
    },
    reset(event) {
      const { schedule, socket, events } = parts
      // The snapshot of a repair may end below the previous position: fetch the changes since then.
      if (event.reason === 'repair') schedule.dispatch('want')
      // The socket and its messages belong to the previous history.
      else socket.renew()
      parts.later(() => events.emit('reset', event))
    },
  }
}

/** A fetch has failed. */
export function onFailure(parts: Parts, error: SyncError): void {
  const { state, feed, reporter } = parts
  if (!isServiceResponse(error)) state.isReached = false
  else if (!state.isReached) onReached(parts)
  feed.failed()
  reporter.failure(error)
}

/** The server has answered: let waiting transactions be sent. */
function onReached({ state, schedule, mutations }: Parts): void {
  const wasReached = state.isReached
  state.isReached = true
  const hadFailed = schedule.failure !== undefined
  if (hadFailed || !wasReached) mutations.reached(hadFailed)
}

/** Reads the data that the leader has stored. If that fails, stops following, and resolves with `undefined`. */
async function readStored({ following, copy, feed, polls }: Parts): Promise<SyncResult | undefined> {
  try {
    const result = await copy.readStored()
    if (!following.leader) return undefined
    if (result) feed.fetched('delta')
    // The leader has not yet stored all that it has sent.
    else polls.fetch('hint')
    return result ?? { kind: 'delta', sid: copy.position?.confirmed ?? 0, changes: 0 }
  } catch {
    following.fail()
    return undefined
  }
}
