import { markDeleted } from '../../src/storage/deleted.ts'
import type { Deed } from './plan.ts'
import type { Moment } from './steps.ts'

/** A client gives up a transaction of the store after a quarter of a minute. */
const silentMs = 45_000

/** A page that comes back has opened its database again within so long, in ms. */
const reopenMs = 1_000

/** What goes wrong with a disk for one moment. */
export const storeDeeds = {
  'die with the next write': ({ simulation, index }) => {
    const tab = simulation.tab(index)
    simulation.tell(`${tab.name} is to be killed when its next write is stored`)
    tab.dieSoon()
  },
  'delete the database': async ({ simulation, index, n }) => {
    const device = simulation.device(index)
    // After a sign-out, a frozen tab may take a deletion for another one.
    if (device.life > 0) return
    device.hasDeleted ||= n % 2 === 0
    simulation.tell(
      `another page deletes the database of the ${device.name} device${device.hasDeleted ? ', and says so' : ''}`,
    )
    simulation.cleared(device)
    if (device.hasDeleted) await markDeleted(device.disk.store)
    for (const tab of device.openTabs) {
      const { isAway } = tab.surroundings
      if (!isAway) tab.hasNoDisk = true
      const isOpening = simulation.clock.now() - tab.awakeSince < reopenMs
      if (device.hasDeleted && (isAway || isOpening)) simulation.mayEnd(tab)
    }
    await device.disk.delete()
  },
  linger: ({ simulation }) => {
    simulation.tell('70 s later')
    return simulation.advance(70_000)
  },
  'show another tab': ({ simulation, index }) => {
    if (index >= simulation.plan.tabs) return
    const tab = simulation.tab((index + 1) % simulation.plan.tabs)
    simulation.tell(`${tab.name} comes to the front`)
    tab.show()
    return simulation.advance(1_000)
  },
  'refuse a store transaction': ({ simulation, index, n }) => {
    const { name, disk } = simulation.device(index)
    disk.beforeRefusal = n % 6
    simulation.tell(`the store of the ${name} device refuses a write after ${n % 6} more`)
  },
  'silence the store': ({ simulation, index }) => {
    const device = simulation.device(index)
    // Nothing would say whose tabs it opens while somebody else is signed in.
    if (device.signedIn !== device.identity) return
    simulation.tell(
      `the store of the ${device.name} device is silent for 45 s, once it has stored one more write`,
    )
    device.disk.silence()
    simulation.clock.after(silentMs, () => device.disk.answer())
  },
  'fill the store': ({ simulation, index }) => {
    const device = simulation.device(index)
    simulation.tell(`there is no room beside the data of the ${device.name} device`)
    device.disk.fill()
  },
} satisfies Partial<Record<Deed, (moment: Moment) => unknown>>
