import { codeOf } from '../base/errors.ts'
import { type RunningServer, type ServeOptions, serve } from '../server/serve.ts'
import type { SyncService } from '../server/service.ts'
import { CommandError } from './failure.ts'
import type { Settings } from './settings.ts'
import type { Shell } from './shell.ts'

export const addressOptions = {
  host: { about: 'The address to listen on (127.0.0.1)', value: 'address' },
  port: { about: 'The port to listen on; 0 takes any free port (8080)', value: 'number' },
}

export function addressIn(settings: Settings): Pick<ServeOptions, 'host' | 'port'> {
  return {
    host: settings.text('host') ?? '127.0.0.1',
    port: settings.integer('port', 0, 65_535) ?? 8_080,
  }
}

/** Starts to serve. Rejects with a CommandError if the address or port cannot be used. */
export async function listen(service: SyncService, options: ServeOptions): Promise<RunningServer> {
  try {
    return await serve(service, options)
  } catch (error) {
    const { host, port } = options
    switch (codeOf(error)) {
      case 'EADDRINUSE':
        throw new CommandError(
          `The port ${port} of ${host} is in use; choose another with \`--port\`, or 0 for any free port.`,
        )
      case 'EACCES':
        throw new CommandError(`This user may not listen on the port ${port}; choose one above 1023.`)
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
        throw new CommandError(
          `\`${host}\` is not an address of this machine; choose another with \`--host\`.`,
        )
      default:
        throw error
    }
  }
}

/** Resolves at the first signal to end. The second signal ends the process at once. */
export function untilSignal({ onEnd, exit }: Shell): Promise<void> {
  return new Promise((resolve) => {
    // One listener for both signals: Deno calls a listener that is added during a signal for the same signal.
    let isEnding = false
    onEnd(() => {
      if (isEnding) exit(1)
      isEnding = true
      resolve()
    })
  })
}
