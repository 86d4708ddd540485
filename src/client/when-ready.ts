import { Disposer } from '../base/disposer.ts'
import { ClosedError } from '../base/errors.ts'
import { onAbort } from '../base/on-abort.ts'
import type { Engine } from '../engine/engine.ts'

/**
 * Resolves when `session` has data to show, and has loaded the type `t`; rejects when it is closed, or with the reason of
 * `signal`.
 */
export function whenReady(session: Engine, signal: AbortSignal | undefined, t?: string): Promise<void> {
  const waiting = new Disposer()
  return new Promise<void>((resolve, reject) => {
    const look = () => {
      if (session.status.lifecycle === 'closed') reject(new ClosedError())
      else if (session.replica.isReady(t)) resolve()
    }
    waiting.add(onAbort(signal, () => reject(signal?.reason)))
    waiting.add(session.events.on('status', look))
    waiting.add(session.events.on('change', look))
    look()
  }).finally(() => waiting.dispose())
}
