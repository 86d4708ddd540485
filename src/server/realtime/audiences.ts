import type { Unsubscribe } from '../../base/emitter.ts'
import type { LoggedChange } from '../log/log.ts'
import { isReceivedBy } from '../log/received.ts'
import { type Connection, Push } from './connection.ts'
import { closeCodes } from './server-socket.ts'

/** The connections of callers with the same owners, who all receive the same changes. */
interface Audience {
  readonly owners: ReadonlySet<string>
  readonly connections: Set<Connection>
}

/**
 * The connections, by the owners of their callers. A connection is entered once, however many owners its caller has, so
 * that changes of several owners arrive in one push, in the order of their sids. Of two pushes with the same `sid`, a
 * client would take the second for known.
 */
export class Audiences {
  readonly #byKey = new Map<string, Audience>()
  readonly #byOwner = new Map<string, Set<Audience>>()

  /** Enters a connection that receives the changes of `owners`, until the returned function is called. */
  add(connection: Connection, owners: readonly string[]): Unsubscribe {
    const key = JSON.stringify([...owners].sort())
    const audience = this.#byKey.get(key) ?? this.#open(key, owners)
    audience.connections.add(connection)
    return () => {
      audience.connections.delete(connection)
      if (audience.connections.size === 0 && this.#byKey.get(key) === audience) this.#close(key, audience)
    }
  }

  /**
   * Pushes all changes up to `sid` to the connections that receive them. Closes the connections that would receive a
   * change whose fields are forgotten: their clients fetch a delta.
   */
  deliver(sid: number, changes: readonly LoggedChange[]): void {
    const received = new Map<Audience, LoggedChange[]>()
    for (const change of changes) {
      for (const audience of this.#byOwner.get(change.owner) ?? []) {
        if (!isReceivedBy(audience.owners, change)) continue
        const list = received.get(audience)
        if (list) list.push(change)
        else received.set(audience, [change])
      }
    }
    // Audiences that receive the same changes share the text of the push.
    const pushes = new Map<string, Push>()
    for (const [{ connections }, list] of received) {
      if (list.some(({ isForgotten }) => isForgotten)) {
        for (const connection of [...connections]) connection.close(closeCodes.restart, 'restart')
        continue
      }
      const key = list.map((change) => change.sid).join()
      const push =
        pushes.get(key) ??
        new Push(
          sid,
          list.map(({ frame }) => frame),
        )
      pushes.set(key, push)
      for (const connection of connections) connection.push(push)
    }
  }

  #open(key: string, owners: readonly string[]): Audience {
    const audience = { owners: new Set(owners), connections: new Set<Connection>() }
    this.#byKey.set(key, audience)
    for (const owner of owners) {
      const audiences = this.#byOwner.get(owner) ?? new Set()
      this.#byOwner.set(owner, audiences.add(audience))
    }
    return audience
  }

  #close(key: string, audience: Audience): void {
    this.#byKey.delete(key)
    for (const owner of audience.owners) {
      const audiences = this.#byOwner.get(owner)
      audiences?.delete(audience)
      if (audiences?.size === 0) this.#byOwner.delete(owner)
    }
  }
}
