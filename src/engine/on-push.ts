import { type RealtimeSocketListener, unauthenticated } from '../network/realtime-socket.ts'
import { readPush } from '../protocol/push.ts'
import type { FeedListener } from './feed.ts'
import type { Parts } from './parts.ts'

/** Handles the events of the socket. */
export function onSocket(parts: Parts): RealtimeSocketListener {
  return {
    opened: () => parts.feed.open(),
    message(data) {
      parts.state.hasHeard = true
      parts.feed.hear(readPush(data))
    },
    lost({ wasOpen, code }) {
      parts.state.hasHeard = false
      parts.feed.close()
      parts.polls.heard()
      parts.commit.mark()
      // A browser does not say why a socket did not open, such as a 401; the response to a fetch does. A socket that was
      // open does not fetch now, but after it is open again: a restarting server loses all its clients at the same
      // moment.
      if (!wasOpen || code === unauthenticated) parts.polls.fetch('want')
    },
  }
}

/** Handles the events of the feed, whose source is the socket or, in a tab that follows, the leader. */
export function onPush(parts: Parts): FeedListener {
  return {
    fetchNeeded: (urgency) => parts.polls.fetch(urgency),
    heard() {
      const { state, options } = parts
      parts.polls.heard()
      const isInStep = parts.feed.state === 'live' && !parts.following.leader
      if (isInStep) state.inStepAt = options.environment.clock.now()
      parts.commit.mark()
    },
    applied(outcome) {
      // Only the leader repairs the data.
      const isRepairDue = !parts.following.leader && parts.fetcher.noteOutcome(outcome)
      if (isRepairDue) parts.polls.fetch('want')
      // A delta may not contain the latest pushes yet, so there is no hurry.
      else if (outcome.want === 'delta') parts.polls.fetch('hint')
      else if (outcome.want === 'confirm') parts.polls.fetch('confirm')
    },
    heartbeat: (ms) => parts.socket.expectHeartbeat(ms),
    useless: () => openAgain(parts),
  }
}

/** Opens another socket. A follower asks the leader for its position instead. */
export function openAgain({ following, socket }: Parts): void {
  if (following.leader) following.ask()
  else socket.renew()
}
