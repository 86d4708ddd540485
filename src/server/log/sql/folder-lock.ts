import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { kill, pid } from 'node:process'
import type { Unsubscribe } from '../../../base/emitter.ts'
import type { Clock } from '../../../base/environment.ts'
import { ConfigurationError, codeOf } from '../../../base/errors.ts'
import { listenersIn, listenIn, socketOf } from './folder-socket.ts'

/** Longer than it takes to judge a lock and to replace it. In ms. */
const takeoverMs = 100

/** How often, and how many times, others that want the folder are looked for again. In ms. */
const lookMs = 20
const looks = 50

/** Who has a folder. A pid comes again; with the time at which its process began it does not. */
interface Holder {
  readonly pid: number
  readonly started: string
  readonly boot: string
  readonly host: string
  readonly lock: string
  /** The disk on which it listens, if it does: whoever sees no socket of it there knows that it is gone. */
  readonly disk?: number | undefined
}

/**
 * Takes `folder`, which is made where there is none, for this process alone, until the result is called. The lock of
 * a process that is gone is taken over. Rejects with a ConfigurationError where another has the folder, or this one
 * has it already.
 */
export async function lockFolder(folder: string, clock: Clock): Promise<Unsubscribe> {
  makeFolder(folder)
  const lock = randomUUID()
  const socket = await listenIn(folder, lock)
  try {
    await alone(folder, lock, clock)
    const unlock = await takeLock(folder, lock, socket?.disk, clock)
    return () => {
      unlock()
      socket?.close()
    }
  } catch (error) {
    socket?.close()
    throw error
  }
}

/**
 * Waits until nobody else listens. Each listens before it looks, so of two at least one sees the other; of several that
 * come at once, the one with the lowest id waits for the others to give up.
 */
async function alone(folder: string, own: string, clock: Clock): Promise<void> {
  const path = lockOf(folder)
  for (let look = 1; ; look += 1) {
    const others = (await listenersIn(folder)).filter((id) => id !== own)
    if (others.length === 0) return
    const holder = readHolder(path)
    if (holder && others.includes(holder.lock)) throw taken(folder, path, holder)
    if (look === looks || others.some((id) => id < own)) throw taken(folder, path, undefined)
    await new Promise<void>((resolve) => clock.after(lookMs, resolve))
  }
}

/** Takes the lock, unless one has it who does not listen here: no socket can be had, or it runs on another machine. */
async function takeLock(
  folder: string,
  lock: string,
  disk: number | undefined,
  clock: Clock,
): Promise<Unsubscribe> {
  const path = lockOf(folder)
  const own: Holder = { pid, started: startOf(pid) ?? '', boot: bootId(), host: hostname(), lock, disk }
  const draft = `${path}-${lock}`
  const isOwn = () => readHolder(path)?.lock === lock
  // It appears whole: nobody reads half a lock.
  writeFileSync(draft, JSON.stringify(own))
  try {
    if (!linked(draft, path)) {
      const holder = readHolder(path)
      if (holder && !isGone(holder, disk)) throw taken(folder, path, holder)
      renameSync(draft, path)
      if (holder) rmSync(socketOf(folder, holder.lock), { force: true })
      // Another may have judged the same lock, and replaced this one: the last to do so has the folder.
      await new Promise<void>((resolve) => clock.after(takeoverMs, resolve))
      if (!isOwn()) throw taken(folder, path, readHolder(path))
    }
  } finally {
    rmSync(draft, { force: true })
  }
  return () => {
    if (isOwn()) rmSync(path, { force: true })
  }
}

function lockOf(folder: string): string {
  return join(folder, 'lock')
}

/** With those above it. Node's own `recursive` never ends below a folder that can hold none, as `/proc`. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  const above = dirname(folder)
  if (above !== folder) makeFolder(above)
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have made it meanwhile.
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

/** Gives the file another name, unless there is one of that name. */
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

function readHolder(path: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** Whether the process, which does not listen here, is known to have ended. What runs on another machine cannot be seen. */
function isGone({ pid: holder, started, boot, host, disk }: Holder, ownDisk: number | undefined): boolean {
  // Somebody may have deleted its socket.
  if (host === hostname() && boot === bootId() && started !== '' && startOf(holder) === started) return false
  if (boot !== '' && boot === bootId() && disk !== undefined && disk === ownDisk) return true
  if (host !== hostname()) return false
  if (boot !== bootId() || !isRunning(holder)) return true
  const now = startOf(holder)
  return now !== undefined && now !== started
}

function isRunning(holder: number): boolean {
  try {
    return kill(holder, 0)
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

/** When the process began, in a unit of the system's own, or that it has ended; `undefined` where it does not tell. */
function startOf(holder: number): string | undefined {
  try {
    // The 3rd field and the 22nd; the second is a name in parentheses, which may hold anything (proc(5)).
    const stat = readFileSync(`/proc/${holder}/stat`, 'utf8')
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // It has a pid for as long as its parent has not asked what became of it.
    return state === 'Z' ? 'ended' : fields[18]
  } catch {
    return holder === pid ? String(performance.timeOrigin) : undefined
  }
}

/** Changes whenever the machine starts; empty where the system has no such name. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

function taken(folder: string, path: string, holder: Holder | undefined): ConfigurationError {
  const who = holder ? `the process ${holder.pid} on ${holder.host}` : 'another process'
  const advice = `if that no longer runs, delete ${path}; for several processes use a PostgreSQL`
  return new ConfigurationError('database', `The folder ${folder} is in use by ${who}; ${advice}.`)
}
