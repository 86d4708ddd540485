import type { DiskListener } from '../persistence/disk.ts'
import { endSignedOut } from './ending.ts'
import type { Parts } from './parts.ts'

/** Handles the events of the database on the disk. */
export function onDisk(parts: Parts): DiskListener {
  return {
    opening: () => parts.leadership.begin(),
    moved: () => parts.mutations.transactions.moved(),
    async attached(found) {
      const { originStorage, disk, mutations, copy, following, options } = parts
      const { transactions, acknowledgements, unsent } = mutations
      await options.takeOver(disk)
      if (found === 'wiped') originStorage.lose(unsent.filter(({ isStored }) => isStored).length)
      // A closing client gives up, since the browser may empty the database over and over.
      if (found === 'same' || !disk.isSealed) transactions.storeAgain()
      if (found === 'first') {
        originStorage.opened(disk.term === 1)
        await transactions.opened()
      }
      await copy.attach()
      following.begin()
      acknowledgements.endAgain()
    },
    fenced: () => parts.leadership.fenced(),
    signedOut: () => void endSignedOut(parts),
    ended(ends) {
      parts.mutations.acknowledgements.ended(ends)
      parts.following.postOutbox(ends)
    },
    roomNeeded: () => parts.following.askForRoom(),
    storeAgain() {
      parts.mutations.transactions.storeAgain()
      parts.mutations.acknowledgements.endAgain()
    },
    lost() {
      if (!parts.copy.position) return
      parts.fetcher.refill()
      parts.schedule.dispatch('want')
    },
    storage(failure) {
      const { disk, following } = parts
      // A follower that cannot store its transactions has to send them itself, and a tab that cannot attach as the leader has
      // to sync. A leader goes on looking for new transactions.
      if (disk.term === undefined && (disk.leads ? failure : disk.outbox.refused)) following.leave()
      if (failure) {
        parts.options.logger.warn(failure.message, { error: failure })
        void parts.originStorage.read()
      }
      parts.commit.mark()
    },
  }
}
