import { endSignedOut } from './ending.ts'
import type { FollowingListener } from './following.ts'
import { onResumed } from './on-credentials.ts'
import type { Parts } from './parts.ts'

/** Handles the messages of other tabs. */
export function onTabs(parts: Parts): FollowingListener {
  return {
    followed() {
      const { leader } = parts.following
      const { phase } = parts.schedule
      if (leader) {
        const connection = leader.connection.state
        parts.state.isReached =
          connection === 'offline' ? false : connection === 'socket' || connection === 'polling' || undefined
        // A follower reads the disk, which needs neither the server nor credentials.
        if (phase === 'paused' || phase === 'waiting') parts.dispatch('resume')
      } else {
        // Following may have begun and ended in one turn: the feed is closed, and the socket still open.
        parts.socket.renew()
        parts.dispatch('want')
      }
      parts.commit.mark()
    },
    overtaken: () => parts.leadership.overtaken(),
    silent: () => parts.leadership.lead(),
    outbox: (news) => parts.mutations.heard(news),
    outboxUnknown: () => parts.mutations.readAgain(),
    lookForNew: () => void parts.mutations.transactions.readNew().catch(() => {}),
    sync: () => parts.sync(),
    resume: (token) => onResumed(parts, token),
    outdated(version) {
      if (!parts.leadership.outdated()) return
      parts.later(() => parts.events.emit('outdated', { version }))
    },
    signedOut: () => void endSignedOut(parts),
  }
}
