import type { CommitOptions } from '../base/commit.ts'
import { isSyncError, SyncError } from '../base/errors.ts'
import { connectionStatus, dataStatus, type Facts, followedStatus } from './derived-status.ts'
import type { Parts } from './parts.ts'

/** Updates the status after a change of any part, and calls the application's listeners. */
export function onCommit(parts: Parts): CommitOptions {
  return {
    update: () => update(parts),
    notify: () => notifyListeners(parts),
    onLoop: () => onLoop(parts),
  }
}

/** Starts or stops the socket as the state of fetching requires, and updates the status. */
function update(parts: Parts): void {
  const { state, schedule, socket, feed, following, board, disk, copy, mutations, originStorage } = parts
  const { phase, failure, retryAt } = schedule
  const { lifecycle } = state
  const { leader } = following
  const isWanted = schedule.isStarted
  if (!failure) state.isRefused = false
  else if (isSyncError(failure, 'UnauthenticatedError')) state.isRefused = true
  // After a 401, only HTTP requests try the next credentials: they wait between tries, and a socket would not.
  const isDirect = isWanted && !state.isRefused && !leader
  if (isDirect) socket.start()
  else {
    socket.stop()
    if (!leader) feed.close()
  }
  const facts: Facts = {
    phase,
    failure,
    isRefreshing: parts.refresh.isRunning,
    retryAt,
    socket: socket.state,
    feed: feed.state,
    // The hint of a browser may be wrong. What the server has sent since is right.
    online: state.isReached === true || state.hasHeard || parts.options.environment.lifecycle.online(),
    hasData: parts.options.replica.isReady() && lifecycle !== 'signed-out',
    progress: state.progress,
    inStepAt: state.inStepAt ?? copy.placedAt,
    hasFetched: state.hasFetched,
  }
  const wanted = leader?.connection ?? connectionStatus(facts)
  const connection = isWanted ? wanted : { state: 'idle' as const }
  const writes = mutations.status(connection)
  // Only the leader is sure to know the transactions of all tabs.
  const isKnown = disk.term !== undefined
  originStorage.note(lifecycle === 'signed-out' ? 0 : isKnown ? writes.pending : undefined)
  const wasFaulty = board.status.storage.reason !== undefined
  board.update({
    lifecycle,
    role: disk.leads ? 'leader' : 'follower',
    connection,
    data: leader ? followedStatus(facts, leader.data) : dataStatus(facts, connection),
    writes: { ...writes, ...(leader?.paused && { paused: leader.paused }) },
    storage: { ...disk.status, ...originStorage.status },
    lastSyncId: copy.position?.shown ?? 0,
  })
  following.postStatus()
  if (!wasFaulty || board.status.storage.reason !== undefined) return
  // Now that storing works again, other tabs can follow this one, or this tab can follow the leader.
  if (disk.leads) void following.announce()
  else if (!leader) following.ask()
  void originStorage.read()
}

/** Calls the listeners of everything that has changed since the last commit. */
function notifyListeners(parts: Parts): void {
  const { board, events, mutations, options } = parts
  const { replica } = options
  replica.notify()
  const change = replica.takeChange(events.has('change'))
  if (change) events.emit('change', { ...change, lastSyncId: board.status.lastSyncId })
  board.notify()
  mutations.notify()
  parts.emitWaiting()
}

/** Listeners have caused too many commits. */
function onLoop({ options, events }: Parts): void {
  const message = 'Listeners changed data or status 100 times in a row.'
  const error = new SyncError('SyncError', 'listener_loop', message)
  options.logger.warn(message, { error })
  events.emit('error', error)
}
