import { Disposer } from '../base/disposer.ts'
import type { Unsubscribe } from '../base/emitter.ts'
import type { Environment, LifecycleEvent, WebSocketConstructor, WebSocketLike } from '../base/environment.ts'
import type { Debug } from '../base/logger.ts'
import { Machine } from '../base/machine.ts'
import { type Credential, type Credentials, headersOf } from './credentials.ts'
import { withQuery } from './endpoints.ts'
import { Heartbeat } from './heartbeat.ts'
import {
  type SocketEffect,
  type SocketEvent,
  type SocketMachineState,
  type SocketState,
  socketTransition,
} from './socket-state.ts'

export { type SocketState, unauthenticated } from './socket-state.ts'

/**
 * The realtime channel: one socket, which is opened again whenever it is lost, until `stop`. It does not interpret
 * messages.
 */
export interface RealtimeSocket {
  readonly state: SocketState
  start(): void
  stop(): void
  /** Closes the open socket and opens another one at once. Does nothing if none is open. */
  renew(): void
  /**
   * Treats the open socket as lost if no message comes for twice `ms`. `ms` is at least 1 000. Applies to this socket
   * only.
   */
  expectHeartbeat(ms: number): void
}

/** Its functions may use the socket and must not throw. */
export interface RealtimeSocketListener {
  opened(): void
  /** `data`: the data of the socket's event, unread. */
  message(data: unknown): void
  /**
   * The socket was lost or did not open. A browser does not say why, so a request over HTTP has to find out. `code`:
   * the close code (RFC 6455, section 7.4), or 0 if the client itself gave the socket up.
   */
  lost(event: { readonly wasOpen: boolean; readonly code: number }): void
}

export interface RealtimeSocketOptions {
  readonly environment: Pick<Environment, 'WebSocket' | 'clock' | 'random' | 'lifecycle'>
  readonly wsUrl: string
  readonly credentials: Credentials
  readonly listener: RealtimeSocketListener
  readonly debug?: Debug
}

/** Timeout in ms for one attempt, including getting credentials. */
const openTimeoutMs = 15_000

/**
 * A socket that was open for this time, in ms, ends a row of failures. A message does not: a server may greet and close
 * each time.
 */
const provedMs = 10_000

const minHeartbeatMs = 1_000

/**
 * Creates a socket in the state `off`. It stays off if the runtime has no WebSocket, or none that can send an API key.
 */
export function createRealtimeSocket(options: RealtimeSocketOptions): RealtimeSocket {
  const { environment, wsUrl, credentials, listener, debug } = options
  const { clock, random, lifecycle } = environment
  const WebSocket = usableWebSocket(environment.WebSocket, credentials)
  /** Ends the current attempt, socket or wait. */
  let end: Unsubscribe = () => {}
  let heartbeat: Heartbeat | undefined
  let unsubscribe: Unsubscribe | undefined

  const perform = (effect: SocketEffect): void => {
    switch (effect.type) {
      case 'connect':
        end()
        end = connect()
        break
      case 'wait':
        end()
        end = clock.after(effect.until - clock.now(), () => machine.dispatch({ type: 'retry' }))
        break
      case 'rest':
        end()
        break
      case 'report opened':
        listener.opened()
        break
      case 'report lost':
        listener.lost({ wasOpen: effect.wasOpen, code: effect.code })
    }
  }
  const machine = new Machine<SocketMachineState, SocketEvent, SocketEffect>(
    { name: 'off' },
    socketTransition,
    perform,
    'socket',
    debug,
  )
  const lose = (code: number) =>
    machine.dispatch({ type: 'lost', code, now: clock.now(), random: random.number() })

  const connect = (): Unsubscribe => {
    const attempt = new Disposer()
    let ended = false
    attempt.add(() => {
      ended = true
    })
    const cancelLimit = clock.after(openTimeoutMs, () => lose(0))
    attempt.add(cancelLimit)
    const listen = (credential: Credential | undefined) => {
      if (ended || !WebSocket) return
      const socket = openSocket(WebSocket, wsUrl, credential)
      attempt.add(() => drop(socket))
      socket.onopen = () => {
        cancelLimit()
        const pulse = new Heartbeat(clock, () => lose(0))
        heartbeat = pulse
        attempt.add(() => pulse.stop())
        attempt.add(clock.after(provedMs, () => machine.dispatch({ type: 'proved' })))
        machine.dispatch({ type: 'opened', now: clock.now() })
      }
      socket.onmessage = ({ data }) => {
        heartbeat?.heard()
        listener.message(data)
      }
      socket.onclose = ({ code }) => lose(code)
      // Without a listener, closing a socket that is still opening would crash a Node process.
      socket.onerror = () => {}
    }
    const onFailure = () => {
      if (!ended) lose(0)
    }
    // The error is not reported: the error of a constructor quotes the URL. The request over HTTP that follows finds
    // the reason.
    credentials.get().then(listen).catch(onFailure)
    return () => attempt.dispose()
  }

  const onLifecycle = (event: LifecycleEvent) => {
    if (event === 'visible') machine.dispatch({ type: event, overdue: heartbeat?.overdue })
    else if (event === 'online' || event === 'offline') machine.dispatch({ type: event })
  }

  return {
    get state() {
      return machine.state
    },
    start() {
      if (!WebSocket) return
      unsubscribe ??= lifecycle.subscribe(onLifecycle)
      machine.dispatch({ type: 'start' })
    },
    stop() {
      unsubscribe?.()
      unsubscribe = undefined
      machine.dispatch({ type: 'stop' })
    },
    renew() {
      machine.dispatch({ type: 'renew' })
    },
    expectHeartbeat(ms) {
      if (machine.state.name === 'open') heartbeat?.expect(Math.max(ms, minHeartbeatMs))
    },
  }
}

function usableWebSocket(WebSocket: WebSocketConstructor | undefined, { scheme }: Credentials) {
  return scheme === 'apiKey' && !WebSocket?.sendsHeaders ? undefined : WebSocket
}

function openSocket(
  WebSocket: WebSocketConstructor,
  url: string,
  credential: Credential | undefined,
): WebSocketLike {
  if (WebSocket.sendsHeaders) return new WebSocket(url, [], { headers: headersOf(credential) })
  return new WebSocket(credential ? withQuery(url, 'token', credential.value) : url)
}

/** Closes a socket and ignores all its further events, however long the closing takes. */
function drop(socket: WebSocketLike): void {
  socket.onopen = null
  socket.onmessage = null
  socket.onclose = null
  socket.close()
}
