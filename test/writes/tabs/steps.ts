import * as fc from 'fast-check'
import type { Mutator } from '../../../src/mutations/draft.ts'
import { faults as storeFaults } from '../../support/store-faults.ts'
import type { Answer, Browser } from './browser.ts'
import type { Tab } from './tab.ts'

/** Something happens to one tab, by `n` in one of its ways, and then time goes by. */
export interface Step {
  readonly what: keyof typeof deeds | keyof typeof troubles
  readonly tab: number
  readonly n: number
  readonly ms: number
}

interface Moment {
  readonly browser: Browser
  readonly index: number
  readonly tab: Tab
  readonly n: number
}

const pick = <T>(items: readonly T[], n: number): T | undefined => items[n % items.length]
const idOf = (n: number) => `${n % 3}`
const optionsOf = ({ tab, n }: Moment) => {
  const required = n % 4 === 0 ? pick(tab.client.outbox.list(), n) : undefined
  return {
    ...(n % 3 === 0 && { coalesce: idOf(n) }),
    ...(n % 7 === 0 && { group: 'group' }),
    ...(required && { requires: [required] }),
  }
}

const answers: readonly Answer[] = ['lost', 'late', 'busy']

const deeds = {
  insert: (moment: Moment) =>
    moment.tab.write(
      (m) => m.insert('Note', { id: idOf(moment.n), n: moment.browser.next() }),
      optionsOf(moment),
    ),
  update: (moment: Moment) =>
    moment.tab.write((m) => {
      const field = moment.n % 2 === 0 ? 'n' : 'm'
      m.update('Note', idOf(moment.n), { [field]: moment.browser.next() }, { unchanged: moment.n % 5 === 0 })
    }, optionsOf(moment)),
  put: (moment: Moment) =>
    moment.tab.write(
      (m) => m.put('Note', { id: idOf(moment.n), n: moment.browser.next() }),
      optionsOf(moment),
    ),
  delete: (moment: Moment) => moment.tab.write((m) => m.delete('Note', idOf(moment.n)), optionsOf(moment)),
  'undo one'({ tab, n }: Moment) {
    const one = pick(tab.client.outbox.list(), n)
    if (one) tab.undo(one)
  },
  'undo the last': ({ tab }: Moment) => void tab.client.undo().catch(() => {}),
  redo: ({ tab }: Moment) => void tab.client.redo().catch(() => {}),
  retry({ browser, tab, n }: Moment) {
    const one = pick(tab.client.outbox.list({ state: 'rejected' }), n)
    const edit = (m: Mutator) => m.put('Note', { id: idOf(n), n: browser.next() })
    if (one) tab.retry(one, n % 2 === 0 ? edit : undefined)
  },
  discard({ tab, n }: Moment) {
    const one = pick(tab.client.outbox.list({ state: 'rejected' }), n)
    if (one) tab.discard(one)
  },
  show: ({ tab }: Moment) => tab.show(),
  load: ({ tab }: Moment) => tab.load(),
  cut: ({ browser, index }: Moment) => browser.networks[index]?.cut(),
  mend: ({ browser, index }: Moment) => browser.networks[index]?.mend(),
  close: ({ browser, index }: Moment) => browser.close(index),
  crash: ({ browser, index }: Moment) => browser.crash(index),
  'update the application'({ browser }: Moment) {
    if (!browser.wasRestored && !browser.wasClosed) browser.version = 2
  },
  stop: ({ tab }: Moment) => void tab.client.stop(),
  start: ({ tab }: Moment) => void tab.client.start(),
  'bend an answer': ({ browser, n }: Moment) => void browser.answers.push(pick(answers, n) ?? 'lost'),
  'write elsewhere': ({ browser, n }: Moment) =>
    browser.write([{ op: 'i', put: true, t: 'Note', id: idOf(n), p: { n: browser.next(), userId: 'ada' } }]),
  'remove elsewhere': ({ browser, n }: Moment) => browser.write([{ op: 'd', t: 'Note', id: idOf(n) }]),
}

/** What happens in some runs, and not in others. */
const troubles = {
  'store fault': ({ tab, n }: Moment) => tab.store.arm((n >> 2) % 12, storeFaults[n % 5] ?? 'crash'),
  'mend the store': ({ tab }: Moment) => tab.store.disarm(),
  'close the database'({ browser, tab, n }: Moment) {
    // What one version stores again, another may have sent in its own shape.
    if (browser.version > 1) return
    browser.wasClosed = true
    tab.engine.refusals = n % 4
    tab.engine.close('all')
  },
  'restore the server': ({ browser, n }: Moment) => browser.restore(n % 5),
  'trim the log': ({ browser, n }: Moment) => browser.log.trim(browser.log.writes - (n % 3)),
  'restart the service': ({ browser }: Moment) => browser.office.goOnWith(browser.log),
  'deliver twice': ({ browser }: Moment) => void browser.answers.push('again'),
  'refuse the size': ({ browser }: Moment) => void browser.answers.push('too large'),
  'restore when it is committed': ({ browser }: Moment) => void browser.answers.push('restored'),
  'set the clock': ({ browser, n }: Moment) => browser.clock.jump((n - 500) * 1_000),
  'sign out': ({ browser, index }: Moment) => browser.signOut(index),
}

const names = Object.keys(deeds) as (keyof typeof deeds)[]
const troubleNames = Object.keys(troubles) as (keyof typeof troubles)[]

export const step: fc.Arbitrary<Step> = fc.record({
  what: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...names) },
    { weight: 1, arbitrary: fc.constantFrom(...troubleNames) },
  ),
  tab: fc.nat(2),
  n: fc.nat(999),
  ms: fc.constantFrom(0, 0, 30, 100, 700, 5_000, 40_000),
})

/** The troubles of one run: the fewer they are, the longer the stories between them. */
export const someTroubles: fc.Arbitrary<readonly string[]> = fc.subarray(troubleNames)

export async function take(browser: Browser, { what, tab: index, n, ms }: Step): Promise<void> {
  if (what in troubles && !browser.options.troubles.includes(what)) return
  await { ...deeds, ...troubles }[what]({
    browser,
    index: index % browser.networks.length,
    tab: browser.tab(index % browser.networks.length),
    n,
  })
  await browser.office.clock.advance(ms)
  for (const tab of browser.tabs) tab.check()
}
