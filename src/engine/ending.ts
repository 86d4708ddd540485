import type { Parts } from './parts.ts'
import type { Status } from './status.ts'

/** Stops syncing. Resolves once no request is running, and the received data is stored. */
export async function halt(parts: Parts, lifecycle: Status['lifecycle']): Promise<void> {
  const { state } = parts
  state.lifecycle = lifecycle
  state.unsubscribe()
  parts.following.leave()
  parts.polls.stop()
  state.progress = undefined
  const halted = stopSchedules(parts)
  parts.commit.now()
  await halted
  await parts.disk.settled()
}

/** Stops fetching and sending. Resolves once no request is running. */
export async function stopSchedules({ state, schedule, mutations }: Parts): Promise<void> {
  // Send nothing before the server has answered again.
  state.isReached = undefined
  await Promise.all([schedule.stop(), mutations.stop()])
}

/** Closes the engine for good. Resolves when all pending data and writes are stored. */
export function close(parts: Parts): Promise<void> {
  const { state, following, mutations } = parts
  state.ending ??= finish(parts, 'closed', async () => {
    following.close()
    await sealDisk(parts)
    await mutations.close()
  })
  return state.ending
}

/**
 * Ends the engine after the user has signed out, and shows nothing any more. `isChosen`: a call of `logout` has decided
 * about unsent transactions.
 */
export function endSignedOut(parts: Parts, isChosen = false): Promise<void> {
  const { state, mutations, following } = parts
  state.ending ??= (async () => {
    // The calls below may report the sign-out again: let `ending` be set before.
    await undefined
    parts.leadership.close()
    parts.disk.follow()
    parts.copy.empty(mutations.outbox.list().map(({ id }) => id))
    await finish(parts, 'signed-out', async () => {
      await sealDisk(parts)
      await mutations.end(isChosen)
    })
    await following.signOutAnswers
    following.close()
  })()
  return state.ending
}

/** `settle`: settles all transactions. */
async function finish(
  parts: Parts,
  lifecycle: 'closed' | 'signed-out',
  settle: () => Promise<void>,
): Promise<void> {
  parts.modelCheck.stop()
  // On a disk that fails, the last writes must not take minutes.
  parts.disk.outbox.close()
  await halt(parts, lifecycle)
  await settle()
  await parts.copy.close()
  await parts.disk.close()
  parts.leadership.close()
  parts.commit.now()
  parts.originStorage.close()
  parts.events.clear()
}

/** Waits until earlier writes are stored, and prevents the disk from opening again. */
async function sealDisk({ mutations, disk }: Parts): Promise<void> {
  // Storing transactions may require the disk to be opened.
  await mutations.settled()
  await disk.seal()
}
