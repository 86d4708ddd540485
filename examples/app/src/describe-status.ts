import type { Status } from 'instep'

/** Says in a sentence or two how things are. */
export function describeStatus({ connection, data, storage, writes }: Status): string {
  if (storage.reason) return `Nothing is kept on this device: ${storage.reason}`
  if (writes.paused) return writes.paused
  const waiting = writes.pending === 1 ? '1 change waits' : `${writes.pending} changes wait`
  switch (connection.state) {
    case 'offline': {
      const asOf = data.state === 'stale' ? ` You see what was here at ${timeOf(data.asOf)}.` : ''
      return `You are offline.${asOf}${writes.pending > 0 ? ` ${waiting} to be sent.` : ''}`
    }
    case 'unauthenticated':
      return 'Please sign in again.'
    case 'failed':
      return 'The server has a problem. Your changes are kept, and sent later.'
    case 'socket':
    case 'polling':
      return writes.pending > 0 ? `${waiting} to be saved.` : 'All is saved and up to date.'
    default:
      return 'Connecting…'
  }
}

const timeOf = (moment: number) => new Date(moment).toLocaleTimeString([], { timeStyle: 'short' })
