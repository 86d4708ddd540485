import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SyncClient } from '../../src/index.ts'
import { notes } from '../support/office.ts'
import { Browser } from './tabs/browser.ts'
import { step, take } from './tabs/steps.ts'

const options = fc.record({ seed: fc.nat(), tabs: fc.constantFrom(2, 2, 3), refuses: fc.boolean() })

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
      const tabs = networks.map((_, index) => browser.tab(index))
      for (const { client } of tabs) await office.clock.until(client.start())
      for (const tab of [...tabs, ...tabs, ...tabs]) {
        tab.show()
        await office.clock.advance(60_000)
      }
      const rows = await office.rows()
      for (const { client } of tabs) {
        expect(client.status).toMatchObject({ data: { state: 'current' }, writes: { pending: 0 } })
        const reasons = client.outbox.list().map(({ rejection }) => rejection?.reason)
        expect(reasons.filter((reason) => !reason || reason === 'id_reused')).toEqual([])
        expect(idsOf(client)).toEqual(idsOf(tabs[0]?.client))
        expect(unversioned(notes(client))).toEqual(unversioned(rows))
      }
      expect([browser.lost, browser.happened, faults]).toEqual([[], [], []])
      for (const index of networks.keys()) await browser.close(index)
    }),
    {
      endOnFailure: Boolean(process.env.FAST),
      numRuns: Number(RUNS),
      ...(SEED && { seed: Number(SEED), path: SEED_PATH }),
    },
  )
}, 120_000)

const idsOf = (client: SyncClient | undefined) => client?.outbox.list().map(({ id }) => id)

/** What was migrated here, the server may have as it was. */
function unversioned(rows: { readonly [id: string]: unknown }): unknown {
  return JSON.parse(JSON.stringify(rows, (key, value) => (key === 'version' ? undefined : value)))
}
