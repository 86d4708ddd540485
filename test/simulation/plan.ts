import type { BareOptions } from 'instep/testing'
import type { Dialect } from './dialect.ts'

/** Numbers that follow from a seed (Mulberry32). */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** A whole number from 0 to `sides` − 1. */
  roll(sides: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * sides)
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.roll(items.length)]
    if (item === undefined) throw new RangeError('There is nothing to pick from.')
    return item
  }
}

/** What a user does, and what others do, in every run. */
const writes = ['insert', 'update', 'update', 'update', 'put', 'delete'] as const
const undoing = ['undo', 'undo', 'undo', 'redo', 'redo'] as const
const elsewhere = ['update elsewhere', 'update elsewhere', 'put elsewhere', 'delete elsewhere'] as const
const tabsOnly = ['show', 'show', 'open', 'close', 'set the clock'] as const
const deletion = ['update', 'delete the database', 'update', 'show', 'open'] as const

/** What goes wrong. */
const ofNetwork = ['cut', 'cut', 'stop', 'server down', 'lose an answer', 'delay an answer'] as const
const ofStore = [
  'close the store',
  'clear the store',
  'delete the database',
  'store trouble',
  'store trouble',
] as const
const ofServer = ['restore', 'restore', 'new epoch', 'trim'] as const

/** What becomes of a page, and of the session. */
const ofPages = ['freeze', 'stand still', 'sign out'] as const

/** What goes wrong between a device and the server, besides. */
const ofLine = [
  'fail requests',
  'fail requests',
  'fail writes',
  'black hole',
  'mend',
  'mend',
  'kill sockets',
  'be slow',
  'report a false state',
  'hold pushes',
  'send a held push',
  'drop held pushes',
  'end sockets',
  'expire the token',
  'sign in',
  'set the clock',
  'ask for the data',
  'fail a step of the store',
] as const

/** What goes wrong with a disk for one moment. */
const ofDisk = [
  'die with the next write',
  'delete the database',
  'refuse a store transaction',
  'silence the store',
  'fill the store',
] as const

/** The same, together with what shows it. */
const mishaps = [
  ['show', 'cut', 'update', 'freeze', 'clear the store', 'cut'],
  ['cut', 'update', 'freeze', 'clear the store'],
  ['die with the next write', 'update'],
  ['die with the next write', 'insert'],
  ['cut', 'die with the next write', 'put', 'cut'],
  ['refuse a store transaction', 'update'],
  ['silence the store', 'update'],
  ['cut', 'silence the store', 'update'],
  ['cut', 'fill the store', 'update'],
  ['show another tab', 'cut', 'fill the store', 'update', 'linger'],
] as const

/**
 * What a mode has to survive, in one run of three at one place, whatever it is about: its disk is wiped while the page is
 * frozen, a tab is killed between the commit of its write and its message while another one is in front, which then writes,
 * too, any one transaction of the store is refused, the disk commits and then hangs for longer than two time limits.
 */
const actsOfAll = [
  ['cut', 'update', 'freeze', 'clear the store', 'cut'],
  [
    'update',
    'reopen',
    'show another tab',
    'die with the next write',
    'update',
    'update in another tab',
    'linger',
  ],
  ['refuse a store transaction', 'update'],
  ['silence the store', 'update'],
] as const

/** The same at a server that takes no writes: no tab can be killed after its write there. */
const actsOfReaders = [
  ['cut', 'freeze', 'clear the store', 'cut'],
  ['refuse a store transaction', 'update elsewhere'],
  ['silence the store', 'update elsewhere'],
] as const

export type Deed =
  | (typeof writes)[number]
  | (typeof undoing)[number]
  | 'decide'
  | (typeof elsewhere)[number]
  | (typeof tabsOnly)[number]
  | (typeof ofNetwork)[number]
  | (typeof ofStore)[number]
  | (typeof ofServer)[number]
  | (typeof ofLine)[number]
  | (typeof ofPages)[number]
  | (typeof ofDisk)[number]
  | 'linger'
  | 'show another tab'
  | 'reopen'
  | 'update in another tab'
  | 'make noise'
  | 'crash'
  | 'somebody else signs in'

type Scene = Deed | readonly Deed[]

/**
 * What a run is about. The fewer things happen in it, the longer the stories between them. Several deeds together happen one
 * after another in one tab, to one record.
 */
const modes = {
  tabs: [
    ...([...writes, ...elsewhere, ...tabsOnly, ...tabsOnly, 'cut', 'stop', 'crash'] as const),
    ['update', 'update elsewhere'],
    ['put', 'put elsewhere', 'cut'],
    ['cut', 'update', 'update elsewhere', 'cut'],
    deletion,
  ],
  undo: [
    ...([...writes, ...undoing, ...elsewhere, 'cut', 'show'] as const),
    ['update', 'undo'],
    ['put', 'update elsewhere', 'undo'],
    ['delete', 'update elsewhere', 'undo'],
    ['delete elsewhere', 'delete', 'undo'],
    ['cut', 'update', 'undo', 'update elsewhere', 'cut', 'redo'],
    ['stop', 'update', 'undo', 'delete elsewhere', 'stop', 'redo'],
    ['cut', 'insert', 'undo', 'cut'],
    ['cut', 'update', 'update elsewhere', 'cut', 'undo', 'redo'],
  ],
  store: [
    ...([...writes, ...writes, ...elsewhere, ...tabsOnly, ...ofStore, ...ofStore, 'cut', 'crash'] as const),
    ['update elsewhere', 'cut', 'update', 'clear the store', 'show', 'close'],
    ['update elsewhere', 'close the store', 'update'],
  ],
  server: [...writes, ...writes, ...elsewhere, ...tabsOnly, ...ofServer, ...ofNetwork, 'crash', 'decide'],
  all: [
    ...writes,
    ...writes,
    ...undoing,
    ...elsewhere,
    ...tabsOnly,
    ...ofNetwork,
    ...ofStore,
    ...ofServer,
    'crash',
    'decide',
  ],
  pages: [
    ...([...writes, ...elsewhere, ...tabsOnly, ...ofPages, ...ofPages, 'cut'] as const),
    ['show', 'update', 'freeze'],
    ['show', 'update', 'stand still'],
    ['show', 'ask for the data', 'stand still'],
    ['stand still', 'update elsewhere', 'update elsewhere', 'open'],
    ['show', 'ask for the data', 'crash', 'cut', 'open'],
    ['freeze', 'sign out', 'update'],
    ['stand still', 'sign out', 'update'],
    ['cut', 'sign out', 'open'],
    deletion,
    ['cut', 'update', 'freeze', 'delete the database', 'cut'],
  ],
  'other user': [...writes, ...elsewhere, ...tabsOnly, 'somebody else signs in', 'cut', 'decide'],
  network: [...writes, ...writes, ...elsewhere, ...elsewhere, ...ofLine, ...ofNetwork, 'crash', 'decide'],
  // Another server has no epoch: it can neither be restored nor forget its changes.
  'other server': [...elsewhere, ...elsewhere, ...elsewhere, ...tabsOnly, ...ofLine, 'cut', 'crash'],
  disk: [
    ...([
      ...writes,
      ...elsewhere,
      ...tabsOnly,
      ...ofDisk,
      ...ofPages,
      'cut',
      'crash',
      'clear the store',
    ] as const),
    ...mishaps,
  ],
  // Of the first write transactions of the store, one is refused.
  'first writes': [
    ...([...writes, ...elsewhere, 'close', 'open', 'cut', 'somebody else signs in'] as const),
    ['cut', 'update', 'close', 'somebody else signs in', 'cut', 'open'],
    ['cut', 'insert', 'close', 'somebody else signs in', 'cut', 'open'],
  ],
  'bare server': [
    ...([...writes, ...undoing, ...undoing, ...elsewhere, 'show', 'cut', 'crash', 'open', 'trim'] as const),
    ['update', 'undo'],
    ['insert', 'undo', 'redo'],
    ['put', 'undo', 'redo'],
    ['delete', 'undo', 'redo'],
    ['update', 'undo', 'redo', 'undo'],
    ['put', 'update elsewhere', 'undo'],
    ['delete', 'update elsewhere', 'undo'],
    ['cut', 'update', 'undo', 'update elsewhere', 'cut', 'redo'],
    ['cut', 'update', 'update elsewhere', 'cut', 'undo', 'redo'],
    ['insert', 'cut', 'update elsewhere', 'trim', 'cut', 'undo'],
    ['delete elsewhere', 'delete', 'undo'],
    ['update', 'crash', 'undo'],
  ],
  hour: [...writes, ...elsewhere, ...elsewhere, ...ofLine, ...ofLine, ...ofNetwork, 'make noise', 'trim'],
} satisfies Record<string, readonly Scene[]>

export type Mode = keyof typeof modes

/** The modes of a run of all tests. */
export const families = {
  tabs: ['tabs', 'undo', 'store', 'server', 'all', 'other user', 'pages'],
  network: ['network', 'other server', 'network', 'other server', 'hour'],
  disk: ['disk', 'disk', 'first writes', 'disk', 'disk'],
  bare: ['bare server'],
} as const satisfies Record<string, readonly Mode[]>

/** Those in which the server and its line never fail, but for a device without a network. */
export const calmModes: ReadonlySet<Mode> = new Set<Mode>(['tabs', 'undo', 'pages', 'disk', 'bare server'])

/** One thing that happens, in one of its ways by `n`, and how long nothing else does afterwards. */
export interface Step {
  readonly what: Deed
  readonly tab: number
  readonly id: 'a' | 'b' | 'c'
  readonly n: number
  readonly ms: number
}

/** A whole run, as its seed says it. */
export interface Plan {
  readonly seed: number
  readonly mode: Mode
  /** Tabs of the first device. The second device, if there is one, has one. */
  readonly tabs: number
  readonly hasSecondDevice: boolean
  /** In which order the tabs are opened before anything else; in none, each is opened when it is used. */
  readonly opened: readonly number[]
  /** Whether the user undoes step by step (`client.undo`), or one transaction of choice (`tx.undo`). */
  readonly undoesInSteps: boolean
  /** Whether the service refuses all writes to one of the records. */
  readonly refuses: boolean
  /** The number of the write transaction that each device's store refuses, from 0. */
  readonly refusedWrite: number | undefined
  /** How long each store transaction takes before and after it, in ms. */
  readonly storeMs: number
  /** Whether a last backup is put back before the last restart. */
  readonly endsRestored: boolean
  /** Whether some writes ask to be refused if somebody else has changed the record. */
  readonly hasConditions: boolean
  readonly hasSockets: boolean
  /** Whether its tabs share locks, as in a secure page. */
  readonly hasLocks: boolean
  /** Whether its tabs hear each other. `faulty`: messages are late, lost and doubled. */
  readonly channel: 'none' | 'fine' | 'faulty'
  /** The time that each piece of a response takes, in ms. 0: responses come whole. */
  readonly pieceMs: number
  /** What the application does after a 401. */
  readonly renewal: 'at once' | 'slow' | 'fails once' | 'by the user'
  /** How the server speaks, if it is not Instep's service. */
  readonly dialect: Dialect | undefined
  /** How the server speaks, if it takes writes and knows no extension. */
  readonly bare: BareOptions | undefined
  readonly steps: readonly Step[]
}

/** The run of `seed`: of one mode after another, or of the given one. */
export function planOf(seed: number, mode: Mode = families.tabs[seed % families.tabs.length] ?? 'all'): Plan {
  const dice = new Dice(seed)
  const rarely = () => dice.roll(5) === 0
  const plan = {
    seed,
    mode,
    hasLocks: seed % 3 > 0,
    channel: (['none', 'fine', 'fine', 'faulty'] as const)[seed % 4] ?? 'fine',
    tabs: dice.pick(mode === 'undo' ? [1, 1, 2] : [1, 2, 2, 3]),
    hasSecondDevice: rarely(),
    undoesInSteps: dice.roll(2) === 0,
    refuses: rarely(),
    storeMs: rarely() ? 20 : 0,
    endsRestored: dice.roll(2) === 0 && !['other server', 'bare server'].includes(mode),
  }
  const count = plan.tabs + (plan.hasSecondDevice ? 1 : 0)
  const numbers = Array.from({ length: count }, (_, index) => index)
  // A tab without data would take whoever answers first for its user.
  const opened =
    rarely() && mode !== 'other user' && mode !== 'first writes'
      ? []
      : dice.roll(2) === 0
        ? numbers
        : [...numbers].reverse()
  const steps: Step[] = []
  const isHour = mode === 'hour'
  const waits = isHour
    ? [30, 300, 2_000, 10_000, 20_000]
    : [1, 1, 50, 300, 3_000, ...(mode === 'pages' ? [70_000] : [3_000]), 70_000]
  for (const length = isHour ? 250 : 4 + dice.roll(8); steps.length < length; ) {
    const scene = dice.pick<Scene>(modes[mode])
    const [tab, id] = [dice.roll(count), dice.pick<Step['id']>(['a', 'a', 'a', 'b', 'c'])]
    for (const what of typeof scene === 'string' ? [scene] : scene) {
      steps.push({ what, tab, id, n: dice.roll(1_000), ms: dice.pick(waits) })
    }
  }
  const refusedWrite = mode === 'first writes' ? dice.roll(10) : undefined
  addAct(steps, mode, count, waits, new Dice(~seed))
  return { ...plan, opened, steps, refusedWrite, ...serverOf(mode, dice) }
}

/** Has dice of its own, so that what a seed says of a mode stays as it is. */
function addAct(steps: Step[], mode: Mode, count: number, waits: readonly number[], dice: Dice): void {
  if (dice.roll(3) > 0) return
  const scene = dice.pick<readonly Deed[]>(mode === 'other server' ? actsOfReaders : actsOfAll)
  // Of the first writes, one is refused as it is.
  if (mode === 'first writes' && scene[0] === 'refuse a store transaction') return
  const [tab, id] = [dice.roll(count), dice.pick<Step['id']>(['a', 'a', 'a', 'b', 'c'])]
  const act = scene.map((what): Step => ({ what, tab, id, n: dice.roll(1_000), ms: dice.pick(waits) }))
  steps.splice(dice.roll(steps.length + 1), 0, ...act)
}

/** Whether a tab is killed, or the disk fails, for one moment. */
export function hasDiskMoment({ mode, steps }: Plan): boolean {
  return mode === 'disk' || steps.some(({ what }) => momentsOfDisk.has(what))
}

const momentsOfDisk: ReadonlySet<Deed> = new Set<Deed>([
  'die with the next write',
  'refuse a store transaction',
  'silence the store',
  'fill the store',
])

const plainServer = {
  hasConditions: false,
  hasSockets: true,
  pieceMs: 0,
  renewal: 'at once',
  dialect: undefined,
  bare: undefined,
} as const

function serverOf(mode: Mode, dice: Dice): Pick<Plan, keyof typeof plainServer> {
  if (mode === 'bare server') return { ...plainServer, bare: bareOf(dice) }
  if (!families.network.some((one) => one === mode)) return plainServer
  return {
    hasConditions: mode === 'network' && dice.roll(2) === 0,
    hasSockets: dice.roll(4) > 0,
    pieceMs: dice.pick([0, 0, 400]),
    renewal: dice.pick(['at once', 'slow', 'fails once', 'by the user']),
    dialect:
      mode === 'other server'
        ? {
            snapshotSid: dice.pick(['first', 'last']),
            snapshotTo: dice.pick(['head', 'rows']),
            delta: dice.pick(['frames', 'both']),
            deltaSid: dice.pick(['frames', 'head']),
            push: dice.pick(['nothing', 'each frame', 'frames', 'delta', 'sid', 'hint']),
          }
        : undefined,
    bare: undefined,
  }
}

function bareOf(dice: Dice): BareOptions {
  const pushes = dice.pick(['frames', 'frames', 'frame', 'rows', 'sid'] as const)
  return {
    deltas: dice.pick(['frames', 'rows']),
    pushes,
    pushAfterMs: dice.pick([-300, 0, 300]),
    socket: dice.roll(4) > 0,
    tx: dice.roll(4) === 0,
    // Rows do not say all that has changed.
    since: dice.roll(4) === 0 && pushes.startsWith('frame'),
  }
}

/** A run that is told step by step: `tab id n ms what`, as a failing run prints it. */
export function told(options: Partial<Omit<Plan, 'steps'>>, steps: readonly string[]): Plan {
  return {
    seed: 1,
    mode: 'all',
    hasLocks: false,
    channel: 'none',
    tabs: 1,
    hasSecondDevice: false,
    opened: [],
    undoesInSteps: false,
    refuses: false,
    refusedWrite: undefined,
    storeMs: 0,
    endsRestored: false,
    ...plainServer,
    ...options,
    steps: steps.map((text) => {
      const [tab, id, n, ms, ...what] = text.split(' ')
      return { tab: Number(tab), id, n: Number(n), ms: Number(ms), what: what.join(' ') } as Step
    }),
  }
}

/** The same the other way round, as source text. */
export function textOfPlan({ steps, ...options }: Plan): string {
  const lines = steps.map(({ tab, id, n, ms, what }) => `    '${[tab, id, n, ms, what].join(' ')}',`)
  return [`told(${JSON.stringify(options)}, [`, ...lines, '])'].join('\n')
}
