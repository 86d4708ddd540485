import { faults as storeFaults } from '../support/store-faults.ts'
import { type Answer, answers, answersToWrites, noise } from './answers.ts'
import type { Device } from './device.ts'
import type { Deed } from './plan.ts'
import type { Simulation } from './simulation.ts'
import type { Moment } from './steps.ts'

const endpoints = ['delta', 'bootstrap', 'ws', 'tx', undefined] as const
const latencies = [20, 0, 300, 4_000]
const closeCodes = [1001, 1011, 1012, 1013, 4401]

function troubled({ simulation, index }: Moment): Device {
  const device = simulation.device(index)
  device.hadTrouble = true
  return device
}

function plan(device: Device, answer: Answer | undefined, endpoint: string | undefined, times: number): void {
  if (!answer) return
  for (let time = 0; time < times; time += 1) device.answers.push({ endpoint, answer })
}

/** What goes wrong between a device and the server, and what a device does to itself. */
export const lineTroubles = {
  'fail requests': (moment) => {
    const { simulation, n } = moment
    const device = troubled(moment)
    const endpoint = endpoints[Math.trunc(n / 3) % endpoints.length]
    device.hasNoise = true
    plan(device, answers[n % answers.length], endpoint, 1 + (n % 3))
    simulation.tell(
      `requests of the ${device.name} device to ${endpoint ?? 'anything'} fail, kind ${n % answers.length}`,
    )
  },
  'fail writes': (moment) => {
    const { simulation, n } = moment
    const device = troubled(moment)
    plan(device, answersToWrites[n % answersToWrites.length], 'tx', 1 + (n % 3))
    simulation.tell(`writes of the ${device.name} device go astray, kind ${n % answersToWrites.length}`)
  },
  'black hole': (moment) => {
    const device = troubled(moment)
    if (device.isCut) return
    moment.simulation.tell(`nothing arrives at or from the ${device.name} device`)
    device.mock.network.blackHole()
  },
  mend: ({ simulation, index }) => {
    const device = simulation.device(index)
    if (device.isCut) return
    simulation.tell(`the network of the ${device.name} device works`)
    device.mock.network.mend()
  },
  'kill sockets': ({ simulation, index }) => {
    simulation.tell('the sockets break')
    simulation.device(index).mock.network.killSockets()
  },
  'be slow': (moment) => {
    const device = troubled(moment)
    const ms = latencies[moment.n % latencies.length] ?? 0
    moment.simulation.tell(`a message takes ${ms} ms`)
    device.mock.network.latencyMs = ms
  },
  'report a false state': (moment) => {
    const { simulation, n } = moment
    const device = troubled(moment)
    if (device.isCut) return
    const online = n % 2 === 0
    simulation.tell(`the ${device.name} device believes to be ${online ? 'online' : 'offline'}`)
    device.mock.environment.lifecycle.set({ online })
  },
  'hold pushes': (moment) => {
    troubled(moment)
    moment.simulation.tell('pushes are held')
    moment.simulation.server.hold()
  },
  'send a held push': ({ simulation, n }) => {
    const { held } = simulation.server
    simulation.tell('a held push comes early')
    held[n % (held.length || 1)]?.send()
  },
  'drop held pushes': (moment) => {
    troubled(moment)
    moment.simulation.tell('the held pushes get lost')
    moment.simulation.server.drop()
  },
  'end sockets': ({ simulation, index, n }) => {
    const code = closeCodes[n % closeCodes.length] ?? 1012
    simulation.tell(`the server closes the sockets with ${code}`)
    simulation.device(index).closeSockets(code)
  },
  'expire the token': (moment) => {
    troubled(moment)
    moment.simulation.tell('the token expires')
    moment.simulation.server.expire('ada')
    for (const device of moment.simulation.devices)
      device.waitsForUser = device.plan.renewal === 'by the user'
  },
  'sign in': ({ simulation }) => simulation.resume(),
  'set the clock': ({ simulation, index, n }) => {
    const ms = (n - 500) * (n % 10 === 0 ? 170_000 : 10_000)
    simulation.tell(`the clock is set by ${ms / 1_000} s`)
    simulation.device(index).machineClock.jump(ms)
  },
  'ask for the data': ({ simulation, index }) => {
    const tab = simulation.tab(index)
    simulation.tell(`${tab.name} asks for the data`)
    tab.sync()
  },
  'fail a step of the store': (moment) => {
    const { simulation, index, n } = moment
    const device = troubled(moment)
    const tab = simulation.tab(index)
    const fault = storeFaults[n % storeFaults.length] ?? 'throw'
    const step = Math.trunc(n / 4) % 12
    simulation.tell(`step ${step} of the store of ${tab.name} fails: ${fault}`)
    device.hasStoreFault = true
    if (fault === 'full') device.lackRoom()
    tab.failStoreAt(step, fault)
  },
  'make noise': (moment) => {
    const device = troubled(moment)
    device.hasNoise = true
    moment.simulation.tell('something that is no change comes on the sockets')
    moment.simulation.server.push(noise[moment.n % noise.length])
  },
} satisfies Partial<Record<Deed, (moment: Moment) => unknown>>

/** Lets the line and the stores work again. */
export function healLine(simulation: Simulation): void {
  if (simulation.plan.seed % 2 === 0) simulation.server.drop()
  else simulation.server.release()
  for (const device of simulation.devices) {
    device.answers = []
    device.hasStoreFault = false
    device.mayLackRoom = false
    const { network, environment } = device.mock
    network.latencyMs = 20
    network.chunkMs = 0
    if (!device.isCut) {
      network.mend()
      environment.lifecycle.set({ online: true })
    }
    for (const tab of device.openTabs) tab.healStore()
  }
  if (simulation.devices.some(({ hadTrouble }) => hadTrouble)) simulation.resume()
}
