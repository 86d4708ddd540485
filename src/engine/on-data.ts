import type { CopyListener } from './local-copy.ts'
import { openAgain } from './on-push.ts'
import type { Parts } from './parts.ts'

/** Handles the events of the data in memory. */
export function onData(parts: Parts): CopyListener {
  return {
    // Call listeners at once, so that their time counts as time of showing the part.
    shownInPart: () => parts.commit.now(),
    received(delta) {
      parts.following.forward(delta)
      parts.commit.mark()
    },
    replaced(types) {
      parts.commit.mark()
      if (!types) void parts.originStorage.read()
      // The leader checks the data for all tabs.
      if (parts.following.leader) return
      void parts.modelCheck.replaced(types)
      if (!types) void parts.following.announce()
    },
    restored: (repair) => parts.fetcher.restored(repair),
    diverged: () => parts.schedule.dispatch('want'),
    otherUser: () => openAgain(parts),
    unknownRecords(ops) {
      if (parts.fetcher.noteUnknown(ops)) parts.schedule.dispatch('want')
    },
  }
}
