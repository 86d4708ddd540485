import { backoffMs } from '../../../base/backoff.ts'
import type { Unsubscribe } from '../../../base/emitter.ts'
import type { Clock, Random } from '../../../base/environment.ts'
import { toError } from '../../../base/errors.ts'
import type { Logger } from '../../../base/logger.ts'
import { Timer } from '../../../base/timer.ts'

/** A connection that receives notifications. */
export interface Listening {
  close(): Promise<void>
}

export interface ListenerOptions {
  /**
   * Connects, and resolves once the connection listens. Calls `onNotice` for each notification, and `onLost` once the
   * connection is lost. The `close` of the result never rejects.
   */
  readonly connect: (
    onNotice: (payload: string) => void,
    onLost: (error: unknown) => void,
  ) => Promise<Listening>
  readonly onNotice: (payload: string) => void
  /** Called for every new connection. Earlier notifications may have been missed. */
  readonly onListening: () => void
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/** Listens until the returned function is called. Reconnects whenever the connection is lost. */
export function keepListening(options: ListenerOptions): Unsubscribe {
  const { connect, onNotice, onListening, clock, random, logger } = options
  let current: Listening | undefined
  let stopped = false
  let failures = 0
  const retryTimer = new Timer(clock, () => void open())

  const open = async () => {
    let isLost = false
    const lost = (error: unknown) => {
      if (isLost || stopped) return
      isLost = true
      failures += 1
      const reason = toError(error).message
      logger.warn('The connection to PostgreSQL for notifications is lost; trying again.', { reason })
      retryTimer.set(backoffMs(failures, random.number()))
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
    retryTimer.clear()
    void current?.close()
  }
}
