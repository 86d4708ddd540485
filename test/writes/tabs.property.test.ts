import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { notes } from '../support/office.ts'
import { Browser, type BrowserOptions } from './tabs/browser.ts'
import { someTroubles, step, take } from './tabs/steps.ts'
import { canonical, type Tab } from './tabs/tab.ts'

const rarely = fc.constantFrom(false, false, false, true)

const options: fc.Arbitrary<BrowserOptions> = fc.record({
  seed: fc.nat(),
  tabs: fc.constantFrom(2, 2, 3),
  refuses: fc.boolean(),
  polls: rarely,
  lazy: rarely,
  merges: rarely,
  plain: rarely,
  troubles: someTroubles,
})

/** More of them; or one again, by the seed and the path that its failure printed. */
const { RUNS = '60', SEED, SEED_PATH = '' } = process.env

test('whatever several tabs of one disk write and take back, each shows in the end what the server has', async () => {
  await fc.assert(
    fc.asyncProperty(options, fc.array(step, { maxLength: 30, size: 'max' }), async (chosen, steps) => {
      const browser = await Browser.open(chosen)
      const { office, networks, faults } = browser
      for (const next of steps) {
        await take(browser, next)
        expect(faults).toEqual([])
      }
      browser.answers.length = 0
      for (const network of networks) network.mend()
      await settle(browser)
      if (chosen.troubles.length > 0) {
        // A page knows more than its disk does, or less, until it is loaded anew.
        for (const index of networks.keys()) await browser.close(index)
        await settle(browser)
      }
      const tabs = networks.map((_, index) => browser.tab(index))
      const rows = await office.rows()
      for (const tab of tabs) {
        const { client } = tab
        expect(client.status).toMatchObject({ data: { state: 'current' }, writes: { pending: 0 } })
        const reasons = client.outbox.list().map(({ rejection }) => rejection?.reason)
        expect(reasons.filter((reason) => !reason || reason === 'id_reused')).toEqual([])
        expect(idsOf(tab)).toEqual(idsOf(tabs[0]))
        expect(canonical(notes(client))).toEqual(canonical(rows))
        tab.check()
      }
      expect([browser.lost, browser.happened, faults]).toEqual([[], [], []])
      for (const index of networks.keys()) await browser.close(index)
      await office.service.close()
      await office.clock.advance(60_000)
      expect(office.clock.timers).toBe(0)
    }),
    {
      endOnFailure: Boolean(process.env.FAST),
      numRuns: Number(RUNS),
      ...(SEED && { seed: Number(SEED), path: SEED_PATH }),
    },
  )
}, 600_000)

/** Lets every tab work again, and each hear of the others. */
async function settle(browser: Browser): Promise<void> {
  const { clock } = browser.office
  const tabs = browser.networks.map((_, index) => browser.tab(index))
  for (const tab of tabs) await clock.until(tab.heal())
  // A client that met one history after another waits longer each time before it begins anew.
  for (let round = 0; round < 3 || (round < 10 && !tabs.every(isSettled)); round += 1) {
    for (const tab of tabs) {
      tab.show()
      await clock.advance(round < 3 ? 60_000 : 1_200_000)
    }
  }
}

const isSettled = ({ client: { status } }: Tab) =>
  status.data.state === 'current' && status.writes.pending === 0

const idsOf = (tab: Tab | undefined) => tab?.client.outbox.list().map(({ id }) => id)
