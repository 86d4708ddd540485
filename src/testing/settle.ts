import { checkOptions } from '../base/check-options.ts'
import type { Clock } from '../base/environment.ts'
import { wrongOption } from '../base/errors.ts'
import type { ConnectionStatus } from '../engine/status.ts'
import type { Backend } from './backend.ts'
import { isDuration } from './checks.ts'
import type { MockDevice } from './device.ts'

export interface SettleOptions {
  /** The time without any activity after which everything is settled, in ms. @default 1_100; 100 in real time */
  readonly quietMs?: number
  /** The time after which to give up, in ms; at least `quietMs`. @default 300_000; 10_000 in real time */
  readonly limitMs?: number
}

export interface SettleTarget {
  readonly clock: Clock
  readonly backend: Backend
  readonly devices: readonly MockDevice[]
  /** Waits for `ms`, on a virtual clock by advancing it. */
  readonly wait: (ms: number) => Promise<void>
}

const stepMs = 20

/** Resolves after `quietMs` without activity. Rejects with an Error that names the activity after `limitMs`. */
export async function settled(
  scene: SettleTarget,
  options: SettleOptions,
  usual: Required<SettleOptions>,
): Promise<void> {
  checkOptions(options, { quietMs: isDuration, limitMs: isDuration })
  const { quietMs = usual.quietMs, limitMs = usual.limitMs } = options
  if (limitMs < quietMs) throw wrongOption('limitMs', `must be at least \`quietMs\`, which is ${quietMs}.`)
  const { clock, backend, wait } = scene
  const end = clock.now() + limitMs
  let quietSince = clock.now()
  let requests = backend.requests.length
  for (;;) {
    await wait(stepMs)
    const now = clock.now()
    const activity = activityOf(scene)
    if (activity || backend.requests.length !== requests) quietSince = now
    requests = backend.requests.length
    if (!activity && now - quietSince >= quietMs) return
    if (now >= end) {
      const reason = (activity ?? 'requests keep coming').replace(/\.$/, '')
      throw new Error(
        `Not settled after ${limitMs} ms: ${reason}. \`clock.advance(ms)\` moves time without waiting for that.`,
      )
    }
  }
}

/** Describes the current activity; `undefined` if there is none. */
function activityOf({ backend, devices }: SettleTarget): string | undefined {
  for (const { clients, network, environment } of devices) {
    if (network.calls > 0 && !backend.faults.mute) return `requests without a response: ${network.calls}`
    if (network.busy) return 'a socket message is in transit'
    const reachable = backend.listening && network.state === 'up'
    const isOnline = environment.lifecycle.online()
    for (const [client, { inStep, failure, unanswered }] of clients) {
      const { lifecycle, connection, writes } = client.status
      const { state } = connection
      const isPaused = lifecycle !== 'running' || state === 'unauthenticated'
      // With a fault that applies until `heal`, the final state of a client is unknown. A frozen page is `idle`.
      if (isPaused || state === 'idle' || backend.faults.endless) continue
      // The hint that there is no network may be wrong. It counts until the server sends something.
      const expected = [...(reachable ? [inStep] : []), ...(reachable && isOnline ? [] : ['offline'])]
      if (!expected.includes(state)) return `a client is \`${state}\`${because(connection, failure)}`
      const isHeld = writes.paused !== undefined && !unanswered
      if (reachable && isOnline && writes.pending > 0 && !isHeld) return 'a client has writes to send'
    }
  }
  return undefined
}

function because(connection: ConnectionStatus, failure: Error | undefined): string {
  if (connection.state === 'failed') return `: ${connection.error.message}`
  return connection.state === 'offline' && failure ? `: ${failure.message}` : ''
}
