import type { Status } from 'instep'
import { formatTime } from './format.ts'

/** A short text about a client's connection, and its tone. */
export interface Described {
  readonly tone: 'good' | 'busy' | 'bad'
  readonly text: string
}

export function describeConnection({ connection, data }: Status): Described {
  switch (connection.state) {
    case 'socket':
      return { tone: 'good', text: 'Live' }
    case 'polling':
      return { tone: 'good', text: 'Polling' }
    case 'connecting':
    case 'refreshing':
      return { tone: 'busy', text: data.state === 'loading' ? 'First sync' : 'Connecting' }
    case 'offline':
      return { tone: 'bad', text: connection.retryAt === undefined ? 'Offline' : 'Offline, retrying' }
    case 'unauthenticated':
      return { tone: 'bad', text: 'Signed out' }
    case 'failed':
      return { tone: 'bad', text: 'Failing, retrying' }
    case 'idle':
      return { tone: 'busy', text: 'Not started' }
  }
}

/** The number of edits that wait for a connection; empty while there is one. */
export function describeWaiting(status: Status): string {
  const { pending } = status.writes
  return pending === 0 || describeConnection(status).tone === 'good' ? '' : `${pending} to send`
}

export function describeStorage({ storage: { kind, reason } }: Status): string {
  if (kind === 'memory') return 'In memory'
  return reason === undefined ? 'On disk' : 'Not now'
}

/** When the data was last known to be in step with the server. */
export function describeAge({ data }: Status): string {
  if (data.state === 'current') return 'Now'
  return data.state === 'stale' ? formatTime(data.asOf) : '–'
}
