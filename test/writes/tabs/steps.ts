import * as fc from 'fast-check'
import type { Answer, Browser } from './browser.ts'
import type { Tab } from './tab.ts'

/** Something happens to one tab, by `n` in one of its ways, and then time goes by. */
export interface Step {
  readonly what: keyof typeof deeds
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
    if (one) tab.retry(one, (m) => m.put('Note', { id: idOf(n), n: browser.next() }))
  },
  discard({ tab, n }: Moment) {
    const one = pick(tab.client.outbox.list({ state: 'rejected' }), n)
    if (one) tab.client.outbox.discard(one.id).catch(() => {})
  },
  show: ({ tab }: Moment) => tab.show(),
  cut: ({ browser, index }: Moment) => browser.networks[index]?.cut(),
  mend: ({ browser, index }: Moment) => browser.networks[index]?.mend(),
  close: ({ browser, index }: Moment) => browser.close(index),
  crash: ({ browser, index }: Moment) => browser.crash(index),
  'update the application'({ browser }: Moment) {
    browser.version = 2
  },
  stop: ({ tab }: Moment) => void tab.client.stop(),
  start: ({ tab }: Moment) => void tab.client.start(),
  'bend an answer': ({ browser, n }: Moment) => void browser.answers.push(pick(answers, n) ?? 'lost'),
  'write elsewhere': ({ browser, n }: Moment) =>
    browser.office.service.write([
      { op: 'i', put: true, t: 'Note', id: idOf(n), p: { n: browser.next(), userId: 'ada' } },
    ]),
  'remove elsewhere': ({ browser, n }: Moment) => browser.office.remove(idOf(n)),
}

const names = Object.keys(deeds) as (keyof typeof deeds)[]

export const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom(...names),
  tab: fc.nat(2),
  n: fc.nat(999),
  ms: fc.constantFrom(0, 0, 30, 100, 700, 5_000, 40_000),
})

export async function take(browser: Browser, { what, tab: index, n, ms }: Step): Promise<void> {
  await deeds[what]({
    browser,
    index: index % browser.networks.length,
    tab: browser.tab(index % browser.networks.length),
    n,
  })
  await browser.office.clock.advance(ms)
}
