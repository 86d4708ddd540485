import type { Environment } from '../base/environment.ts'
import { toError } from '../base/errors.ts'
import { createIds } from '../base/ids.ts'
import type { Payload } from '../protocol/json.ts'
import type { Check, Need } from './check.ts'
import { Context, type Run } from './context.ts'
import { Credentials, type Tokens } from './credentials.ts'
import type { Exchange } from './exchange.ts'
import { lacks } from './lacks.ts'
import { Made } from './made.ts'
import type { Offer } from './offer.ts'
import { LeftOut, NotHeld, Untested } from './outcome.ts'
import { probe } from './probe.ts'
import { removeMade } from './removal.ts'
import type { CheckReport, Report, RunOutcome } from './report.ts'
import { RecordIds, type Template } from './template.ts'
import { Busy, NoAnswer, Wire } from './wire.ts'

export interface RunOptions extends Tokens {
  /** The base address, without a slash at the end. */
  readonly url: string
  readonly insert?: Template | undefined
  readonly change?: Payload | undefined
  readonly checks: readonly Check[]
  /** The time limit of each check, in ms. @default 30_000 */
  readonly timeoutMs?: number | undefined
  readonly environment: Pick<Environment, 'clock' | 'random'>
  /** Ends the run. What it has made is removed all the same. */
  readonly signal: AbortSignal
  /** Called when a check has ended. */
  onChecked?(check: CheckReport, done: number, all: number): void
  /** Called when the removal begins. */
  onRemoving?(): void
}

/** One after the other, and how many checks of each run at once. */
const phases = [
  [undefined, 4],
  ['alone', 1],
  ['last', 4],
] as const

/** How long the server may take for what was under way when the run was interrupted, in ms. */
const settlingMs = 300

/** The time limit of a request, in ms, unless a check has less. */
const maxRequestMs = 10_000

/**
 * Checks a server. Rejects with a {@link NobodyThere} if nobody responds at the address. Removes what it has made,
 * whatever happens.
 */
export async function runConformance(options: RunOptions): Promise<Report> {
  const { url, insert, change, checks, timeoutMs = 30_000, environment, signal } = options
  const { clock, random } = environment
  const startedAt = clock.now()
  const credentials = new Credentials(options, random)
  const end = new AbortController()
  const wire = new Wire({
    url,
    credentials,
    clock,
    requestMs: Math.min(timeoutMs, maxRequestMs),
    signal: end.signal,
  })
  try {
    const offer = await probe(wire)
    const made = new Made()
    const ids = createIds(clock, random)
    const template = insert ?? { t: '', p: {} }
    const recordIds = new RecordIds(template, ids)
    recordIds.avoid(offer.ids)
    const run: Omit<Run, 'end'> = {
      clock,
      random,
      ids,
      offer,
      made,
      template,
      change: change ?? {},
      recordIds,
      shared: new Map(),
      timeoutMs,
    }
    const given = new Set<Need>([
      ...(['token', 'other-token', 'expired-token'] as const).filter((name) => credentials.has(name)),
      ...(insert ? ['insert' as const] : []),
      ...(change ? ['change' as const] : []),
      ...(offer.tx ? ['tx' as const] : []),
      ...(offer.ws ? ['ws' as const] : []),
    ])
    const reports = new Map<Check, CheckReport>()
    const one = async (check: Check) => {
      if (signal.aborted) return
      const report = await runCheck(check, given, run, wire, signal)
      if (signal.aborted) return
      reports.set(check, report)
      options.onChecked?.(report, reports.size, checks.length)
    }
    for (const [phase, count] of phases)
      await inParallel(
        checks.filter((check) => check.phase === phase),
        count,
        one,
      )
    options.onRemoving?.()
    // Transactions whose answers nobody waits for any more may still be carried out.
    if (signal.aborted) await wire.pause(settlingMs)
    const removal = await removeMade(made, wire, ids, offer)
    const done = checks.flatMap((check) => reports.get(check) ?? [])
    return reportOf(url, done, offer, {
      removal,
      durationMs: clock.now() - startedAt,
      isInterrupted: signal.aborted,
    })
  } finally {
    end.abort()
    wire.close()
  }
}

function reportOf(
  url: string,
  checks: readonly CheckReport[],
  offer: Offer,
  rest: Pick<Report, 'removal' | 'durationMs'> & { readonly isInterrupted: boolean },
): Report {
  const { removal, durationMs, isInterrupted } = rest
  const count = (outcome: CheckReport['outcome']) =>
    checks.filter((check) => check.outcome === outcome).length
  const parts = new Set<string>(
    checks.flatMap(({ outcome, part }) => (outcome === 'left-out' && part ? [part] : [])),
  )
  const counts = {
    held: count('held'),
    notHeld: count('not-held'),
    untested: count('untested'),
    leftOut: count('left-out'),
  }
  const outcomeOf = (): RunOutcome => {
    if (isInterrupted) return 'interrupted'
    if (counts.notHeld > 0) return 'not-held'
    return counts.held > 0 ? 'held' : 'untested'
  }
  return {
    report: 'instep conformance',
    format: 1,
    url,
    outcome: outcomeOf(),
    durationMs,
    endpoints: { tx: offer.tx, ws: offer.ws },
    counts,
    checks,
    leftOut: partsIn(parts),
    removal,
  }
}

function partsIn(parts: ReadonlySet<string>): Report['leftOut'] {
  return (Object.keys(lacks) as (keyof typeof lacks)[])
    .filter((part) => parts.has(part))
    .map((part) => ({ part, lack: lacks[part] }))
}

async function runCheck(
  check: Check,
  given: ReadonlySet<Need>,
  shared: Omit<Run, 'end'>,
  wire: Wire,
  signal: AbortSignal,
): Promise<CheckReport> {
  const { clock, timeoutMs } = shared
  const startedAt = clock.now()
  const { name, title, paragraph, rule } = check
  const common = { name, title, paragraph, rule }
  const missing = check.needs.filter((need) => !given.has(need))
  const part = missing.includes('tx') ? 'POST /tx' : missing.includes('ws') ? 'GET /ws' : undefined
  if (part)
    return { ...common, durationMs: 0, outcome: 'left-out', part, reason: `The server has no \`${part}\`.` }
  if (missing.length > 0) {
    const reason = `It needs ${missing.map((need) => `\`--${need}\``).join(' and ')}.`
    return { ...common, durationMs: 0, outcome: 'untested', reason }
  }
  const end = new AbortController()
  const stop = () => end.abort()
  signal.addEventListener('abort', stop, { once: true })
  const own = wire.fork(end.signal)
  const limitMs = Math.max(timeoutMs, 0)
  const context = new Context({ ...shared, end: startedAt + limitMs }, own)
  const extraMs = check.limitMs?.(context) ?? 0
  const late = new Promise<never>((_, reject) => {
    const total = Math.max(limitMs, extraMs)
    const cancel = clock.after(total, () =>
      reject(
        new NotHeld(`The check ends within ${total / 1_000} s.`, {
          found: 'It does not.',
          exchange: own.last,
        }),
      ),
    )
    end.signal.addEventListener('abort', () => {
      cancel()
      reject(new Untested('The run was interrupted.'))
    })
  })
  late.catch(() => {})
  try {
    await Promise.race([check.run(context), late])
    return { ...common, outcome: 'held', durationMs: clock.now() - startedAt }
  } catch (error) {
    return { ...common, ...outcomeOf(error, own.last), durationMs: clock.now() - startedAt }
  } finally {
    signal.removeEventListener('abort', stop)
    end.abort()
    context.close()
  }
}

type OutcomeFields = Omit<CheckReport, 'name' | 'title' | 'paragraph' | 'rule' | 'durationMs'>

function outcomeOf(error: unknown, last: Exchange | undefined): OutcomeFields {
  if (error instanceof LeftOut) return { outcome: 'left-out', part: error.part, reason: error.message }
  if (error instanceof Untested || error instanceof Busy)
    return { outcome: 'untested', reason: error.message }
  if (error instanceof NoAnswer)
    return { outcome: 'not-held', expected: 'There is an answer.', ...shown(error.exchange) }
  if (!(error instanceof NotHeld))
    return {
      outcome: 'not-held',
      expected: 'The check can be carried out.',
      found: `It failed: ${toError(error).message}`,
      ...shown(last),
    }
  const { expected, found, exchange } = error
  return {
    outcome: 'not-held',
    expected,
    ...(found === undefined ? undefined : { found }),
    ...shown(exchange),
  }
}

function shown(exchange: Exchange | undefined): Partial<Exchange> {
  if (!exchange) return {}
  const { request, answer, failure } = exchange
  return { request, ...(answer && { answer }), ...(failure === undefined ? undefined : { failure }) }
}

async function inParallel<T>(
  items: readonly T[],
  count: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values()
  const work = async () => {
    for (const item of queue) await run(item)
  }
  await Promise.all(Array.from({ length: count }, work))
}
