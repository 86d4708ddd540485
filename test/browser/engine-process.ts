import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'

/** A browser as a process group of its own, so that it can be killed with all that belongs to it. */
export interface EngineProcess {
  readonly child: ChildProcess
  /** Asks it to end, and waits until it has. */
  quit(): Promise<void>
  /** Ends it as a crash would. */
  kill(): Promise<void>
}

// A worker of a run that was killed would go on with its test, and what it has started with it.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))

export function startProcess(
  path: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'env' | 'stdio'>,
): EngineProcess {
  const child = spawn(path, args, { detached: true, ...options })
  const exited = once(child, 'exit')
  const signal = (name: NodeJS.Signals) => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      process.kill(-child.pid, name)
    }
  }
  if (child.pid !== undefined) endWithUs(child.pid, exited)
  return {
    child,
    async quit() {
      signal('SIGTERM')
      await exited
    },
    async kill() {
      signal('SIGKILL')
      await exited
    },
  }
}

/** Kills the process group `pid` once this process has ended, however it did: whoever reads from it is told by that. */
function endWithUs(pid: number, exited: Promise<unknown>): void {
  const watchdog = spawn('sh', ['-c', `read -r _; kill -9 -${pid}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // Nothing to kill is left, and another group may come to have its number.
  exited.finally(() => watchdog.kill('SIGKILL'))
}

/** The path of a program that a test cannot do without. */
export function found(name: string, path: string | undefined): string {
  if (path === undefined) throw new Error(`There is no ${name} here: run \`npm run setup\`.`)
  return path
}
