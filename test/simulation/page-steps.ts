import type { Deed } from './plan.ts'
import type { Moment } from './steps.ts'

const choices = ['discard', 'keep', 'flush', undefined] as const

/** So many steps of a page's own work may be done between what its user does and what becomes of the page. */
const maxSteps = 40

function tabOf({ simulation, index }: Moment) {
  const tab = simulation.device(index).tabs.get(index)
  return tab?.isOpen && !tab.isStill ? tab : undefined
}

/** Lets some of the work be done that is under way. */
async function pass(steps: number): Promise<void> {
  for (let step = 0; step < steps; step += 1) await undefined
}

/** What becomes of a page, and of the session. */
export const pageDeeds = {
  freeze: async (moment) => {
    await pass(moment.n % maxSteps)
    const tab = tabOf(moment)
    if (!tab) return
    const isSoon = moment.n % 2 > 0
    moment.simulation.tell(`${tab.name} is frozen${isSoon ? ' in its next write' : ''}`)
    if (isSoon) tab.freezeSoon()
    else tab.freeze()
  },
  'stand still': async (moment) => {
    await pass(moment.n % maxSteps)
    const tab = tabOf(moment)
    if (!tab) return
    moment.simulation.tell(`${tab.name} stands still`)
    tab.halt()
  },
  'sign out': async ({ simulation, index, n }) => {
    const { clock, oracle } = simulation
    const tab = simulation.tab(index)
    const { device } = tab
    // Nobody would know whether the user has signed out.
    if (device.disk.isSilent) return
    const pending = choices[n % choices.length]
    simulation.tell(`the user signs out in ${tab.name}, ${pending ?? 'if nothing is pending'}`)
    const at = clock.now()
    device.isSigningOut = true
    const isOut = await clock.until(
      tab.client.logout({ pending, timeoutMs: 5_000 }).then(
        () => true,
        () => false,
      ),
    )
    device.isSigningOut = false
    if (!isOut) return simulation.tell('that does not work')
    device.life += 1
    device.signedOutAt = at
    device.synced = undefined
    for (const write of oracle.writes) {
      if (write.tab.device !== device) continue
      if (pending !== 'keep') oracle.ended(write)
      // What another tab stored only then may be of the life before, which nobody sends.
      else if (write.tab !== tab && (write.committed ?? clock.now()) >= at) write.isForgotten = true
    }
  },
} satisfies Partial<Record<Deed, (moment: Moment) => unknown>>
