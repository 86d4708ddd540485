import type { Deed } from './plan.ts'
import type { Moment } from './steps.ts'

/** A client gives up a transaction of the store after a quarter of a minute. */
const silentMs = 45_000

/** What goes wrong with a disk for one moment. */
export const storeDeeds = {
  'die with the next write': ({ simulation, index }) => {
    const tab = simulation.tab(index)
    simulation.tell(`${tab.name} is to be killed when its next write is stored`)
    tab.dieSoon(() => simulation.left(tab))
  },
  'refuse a store transaction': ({ simulation, index, n }) => {
    const { name, disk } = simulation.device(index)
    disk.beforeRefusal = n % 6
    simulation.tell(`the store of the ${name} device refuses a write after ${n % 6} more`)
  },
  'silence the store': ({ simulation, index }) => {
    const device = simulation.device(index)
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
