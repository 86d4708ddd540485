import { Disposer } from '../base/disposer.ts'
import { onAbort } from '../base/on-abort.ts'
import type { Engine } from '../engine/engine.ts'
import { endOf } from '../engine/status.ts'

/**
 * Resolves when `engine` has complete data and, if the type `t` is given, has loaded it. Rejects with a ClosedError
 * when the engine is closed, and with the reason of `signal`.
 */
export function whenReady(engine: Engine, signal: AbortSignal | undefined, t?: string): Promise<void> {
  const waiting = new Disposer()
  return new Promise<void>((resolve, reject) => {
    const check = () => {
      const ended = endOf(engine.status)
      if (ended) reject(ended)
      else if (engine.replica.isReady(t)) resolve()
    }
    waiting.add(onAbort(signal, () => reject(signal?.reason)))
    waiting.add(engine.events.on('status', check))
    waiting.add(engine.events.on('change', check))
    check()
  }).finally(() => waiting.dispose())
}
