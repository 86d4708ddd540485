import { checkOptions } from '../base/check-options.ts'
import type { Clock } from '../base/environment.ts'
import { wrongOption } from '../base/errors.ts'
import type { ConnectionStatus } from '../engine/status.ts'
import type { Backend } from './backend.ts'
import { isDuration } from './checks.ts'
import type { MockDevice } from './device.ts'

export interface SettleOptions {
  /** For how long nothing is to happen, in ms. @default 1_100; 100 in real time */
  readonly quietMs?: number
  /** When to give up, in ms. @default 300_000; 10_000 in real time */
  readonly limitMs?: number
}

export interface Scene {
  readonly clock: Clock
  readonly backend: Backend
  readonly devices: readonly MockDevice[]
  /** Lets `ms` go by. */
  readonly wait: (ms: number) => Promise<void>
}

const stepMs = 20

/** Resolves when nothing has been under way for a while. Rejects with an Error that says what still is. */
export async function settled(
  scene: Scene,
  options: SettleOptions,
  usual: Required<SettleOptions>,
): Promise<void> {
  checkOptions(options, { quietMs: isDuration, limitMs: isDuration })
  const { quietMs = usual.quietMs, limitMs = usual.limitMs } = options
  if (limitMs < quietMs) throw wrongOption('limitMs', `must be at least \`quietMs\`, which is ${quietMs}.`)
  const { clock, backend, wait } = scene
  const end = clock.now() + limitMs
  let quietSince = clock.now()
  let seen = backend.requests.length
  for (;;) {
    await wait(stepMs)
    const now = clock.now()
    const busy = underWay(scene)
    if (busy || backend.requests.length !== seen) quietSince = now
    seen = backend.requests.length
    if (!busy && now - quietSince >= quietMs) return
    if (now >= end) {
      const what = (busy ?? 'requests keep coming').replace(/\.$/, '')
      throw new Error(`Not settled after ${limitMs} ms: ${what}. \`clock.advance(ms)\` waits for nothing.`)
    }
  }
}

/** What is under way, in words. */
function underWay({ backend, devices }: Scene): string | undefined {
  for (const { clients, network, environment } of devices) {
    if (network.calls > 0 && !backend.faults.mute)
      return `${network.calls} of the requests have no answer yet`
    if (network.busy) return 'a message is on its way on a socket'
    const reachable = backend.listening && network.state === 'up' && environment.lifecycle.online()
    for (const [client, { inStep, failure, unanswered }] of clients) {
      const { lifecycle, connection, writes } = client.status
      const { state } = connection
      // What a fault without an end leads to cannot be told.
      if (lifecycle !== 'running' || state === 'unauthenticated' || backend.faults.endless) continue
      if (state !== (reachable ? inStep : 'offline'))
        return `a client is \`${state}\`${because(connection, failure)}`
      const isHeld = writes.paused !== undefined && !unanswered
      if (reachable && writes.pending > 0 && !isHeld) return 'a client has writes to send'
    }
  }
  return undefined
}

function because(connection: ConnectionStatus, failure: Error | undefined): string {
  if (connection.state === 'failed') return `: ${connection.error.message}`
  return connection.state === 'offline' && failure ? `: ${failure.message}` : ''
}
