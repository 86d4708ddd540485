import { backoffMs } from '../../../base/backoff.ts'
import type { Unsubscribe } from '../../../base/emitter.ts'
import type { Clock, Random } from '../../../base/environment.ts'
import { toError } from '../../../base/errors.ts'
import type { Logger } from '../../../base/logger.ts'
import { Timer } from '../../../base/timer.ts'

/** A connection that listens. */
export interface Listening {
  close(): Promise<void>
}

export interface ListenerOptions {
  /** Resolves once it listens. It calls `onNotice` for what is told, and `onLost` when it listens no more. Its `close` never rejects. */
  readonly connect: (
    onNotice: (payload: string) => void,
    onLost: (error: unknown) => void,
  ) => Promise<Listening>
  readonly onNotice: (payload: string) => void
  /** It listens, again or for the first time: what was told before was not heard. */
  readonly onListening: () => void
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/** Listens until it is undone, over as many connections as it takes. */
export function keepListening(options: ListenerOptions): Unsubscribe {
  const { connect, onNotice, onListening, clock, random, logger } = options
  let current: Listening | undefined
  let stopped = false
  let failures = 0
  const alarm = new Timer(clock, () => void open())

  const open = async () => {
    let isLost = false
    const lost = (error: unknown) => {
      if (isLost || stopped) return
      isLost = true
      failures += 1
      const reason = toError(error).message
      logger.warn('The connection for notifications is lost; trying again.', { reason })
      alarm.set(backoffMs(failures, random.number()))
    }
    try {
      current = await connect(onNotice, lost)
    } catch (error) {
      lost(error)
      return
    }
    if (stopped) await current.close()
    if (stopped || isLost) return
    failures = 0
    onListening()
  }
  void open()
  return () => {
    stopped = true
    alarm.clear()
    void current?.close()
  }
}
