import type { LifecycleEvent } from '../base/environment.ts'
import { stopSchedules } from './ending.ts'
import type { Parts } from './parts.ts'

/** Handles an event of the page or of its network. */
export function onLifecycle(parts: Parts, event: LifecycleEvent): void {
  if (event === 'offline') {
    parts.state.isReached = false
    parts.state.hasHeard = false
  }
  parts.leadership.onLifecycle(event)
  if (event === 'frozen') {
    parts.following.close()
    void stopSchedules(parts)
  }
  if (event === 'visible') void parts.originStorage.read()
  if (event === 'resumed') {
    parts.following.begin()
    parts.dispatch('start')
  }
  if (event === 'online' || event === 'visible') parts.dispatch('hurry')
  parts.commit.now()
}
