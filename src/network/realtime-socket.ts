import { Disposer } from '../base/disposer.ts'
import type { Unsubscribe } from '../base/emitter.ts'
import type { Environment, LifecycleEvent, WebSocketConstructor, WebSocketLike } from '../base/environment.ts'
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

export type { SocketState } from './socket-state.ts'

/**
 * The realtime channel: one socket that is opened again whenever it is lost, until `stop`. It says nothing of what
 * the messages mean.
 */
export interface RealtimeSocket {
  readonly state: SocketState
  start(): void
  stop(): void
  /** Closes a socket that no longer hears, and opens another at once. Nothing where none is open. */
  renew(): void
  /**
   * Whoever is silent for twice this long is taken for dead. Holds for the socket that is open now. Less than a second
   * counts as one.
   */
  expectHeartbeat(ms: number): void
}

/** Its functions may use the socket, and do not throw. */
export interface RealtimeSocketListener {
  opened(): void
  /** `data` as the socket's event holds it. */
  message(data: unknown): void
  /**
   * The socket is gone, or never opened; a browser does not tell why, so a call over HTTP has to. `code` is the close
   * code (RFC 6455, section 7.4), or 0 where the socket gave the socket up itself.
   */
  lost(event: { readonly wasOpen: boolean; readonly code: number }): void
}

export interface RealtimeSocketOptions {
  readonly environment: Pick<Environment, 'WebSocket' | 'clock' | 'random' | 'lifecycle'>
  readonly wsUrl: string
  readonly credentials: Credentials
  readonly listener: RealtimeSocketListener
}

/** For one attempt, in ms, getting credentials included. */
const openTimeoutMs = 15_000

/** A socket that was open this long, in ms, was no failure. One that says something and closes is one: it would do so again. */
const provedMs = 10_000

const minHeartbeatMs = 1_000

/** A socket that is off. It stays off where the runtime has no sockets, or none that can carry an API key. */
export function createRealtimeSocket(options: RealtimeSocketOptions): RealtimeSocket {
  const { environment, wsUrl, credentials, listener } = options
  const { clock, random, lifecycle } = environment
  const WebSocket = usableWebSocket(environment.WebSocket, credentials)
  /** Ends the attempt, the socket or the wait that there is. */
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
      case 'tell opened':
        listener.opened()
        break
      case 'tell lost':
        listener.lost({ wasOpen: effect.wasOpen, code: effect.code })
    }
  }
  const machine = new Machine<SocketMachineState, SocketEvent, SocketEffect>(
    { name: 'off' },
    socketTransition,
    perform,
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
        machine.dispatch({ type: 'opened' })
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
    // The error is not told: that of a constructor quotes the URL. The call over HTTP that follows says what is wrong.
    credentials.get().then(listen).catch(onFailure)
    return () => attempt.dispose()
  }

  const onLifecycle = (event: LifecycleEvent) => {
    if (event === 'visible') machine.dispatch({ type: event, overdue: heartbeat?.overdue })
    else if (event !== 'hidden') machine.dispatch({ type: event })
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

/** Lets go of a socket. Nothing of it is heard any more, however long its closing takes. */
function drop(socket: WebSocketLike): void {
  socket.onopen = null
  socket.onmessage = null
  socket.onclose = null
  socket.close()
}
