import { memoryStore, type Store, type TxCodec } from '../../../src/index.ts'
import type { TxOp } from '../../../src/protocol/tx.ts'
import { JumpingClock } from '../../support/jumping-clock.ts'
import { at, Office, officeUrl } from '../../support/office.ts'
import type { VirtualNetwork } from '../../support/virtual-network.ts'
import type { History } from '../simulation/history.ts'
import { RestorableLog } from '../simulation/restorable-log.ts'
import { Tab } from './tab.ts'

/** What becomes of a request with transactions. */
export type Answer = 'lost' | 'late' | 'busy' | 'again' | 'too large' | 'restored'

export interface BrowserOptions {
  readonly seed: number
  readonly tabs: number
  /** Whether the service refuses to have one of the records written. */
  readonly refuses: boolean
  /** Whether there are no sockets. */
  readonly polls: boolean
  /** Whether records stay on the disk until they are used. */
  readonly lazy: boolean
  /** Whether the application writes something in place of what was rejected. */
  readonly merges: boolean
  /** Whether the server is told of nothing that a transaction requires. */
  readonly plain: boolean
  /** What may happen beside what the user does. */
  readonly troubles: readonly string[]
}

const user = 'ada'

/** A browser of Ada's with some tabs, which have one disk, before Instep's own service. */
export class Browser {
  readonly office: Office
  readonly options: BrowserOptions
  /** The machine's clock. */
  readonly clock: JumpingClock
  /** What may not happen, and did. */
  readonly faults: string[] = []
  /** What becomes of the next requests. */
  readonly answers: Answer[] = []
  readonly histories: History[] = []
  /** Of the application that a tab opens. */
  version = 1
  /** Whether an engine has closed a database by itself. */
  wasClosed = false
  readonly networks: readonly VirtualNetwork[]
  readonly #disk: Store = { ...memoryStore(), kind: 'durable' }
  readonly #open = new Map<number, Tab>()
  readonly #lives: Tab[] = []
  /** What was on a disk that its user had deleted. */
  readonly #forgotten = new Set<string>()
  #log: RestorableLog
  #count: number

  static async open(options: BrowserOptions): Promise<Browser> {
    const authorize = ({ id }: { readonly id: string }) =>
      options.refuses && id === '0' ? { message: 'Refused by chance.' } : undefined
    const office = await Office.open({ authorize })
    const browser = new Browser(office, options)
    await browser.#goOnWith(browser.#log)
    return browser
  }

  private constructor(office: Office, options: BrowserOptions) {
    const { seed, tabs } = options
    this.office = office
    this.options = options
    this.clock = new JumpingClock(office.clock)
    this.#count = seed
    this.networks = Array.from({ length: tabs }, () => office.desk().network)
    this.#log = new RestorableLog({
      clock: office.clock,
      random: office.random,
      users: [user],
      listener: { accepted() {}, conflict() {} },
    })
    office.intercept = at('tx', (_, pass) => this.#answer(pass))
  }

  /** A number that was not there before. */
  next(): number {
    this.#count += 1
    return this.#count
  }

  get log(): RestorableLog {
    return this.#log
  }

  get history(): History {
    return this.#log.history
  }

  /** The data is put back to an earlier state, and its history is another one from there on. */
  async restore(writesLost: number): Promise<void> {
    // What one version has sent to this history, another may have sent to the one before.
    if (this.version > 1) return
    await this.#goOnWith(await this.#log.restored(Math.max(0, this.#log.writes - writesLost)))
  }

  async write(ops: readonly TxOp[]): Promise<void> {
    await this.office.service.write(ops)
  }

  get tabs(): readonly Tab[] {
    return [...this.#open.values()]
  }

  /** The tab of this number, opened if need be. */
  tab(index: number): Tab {
    const open = this.#open.get(index)
    if (open) return open
    const network = this.networks[index]
    if (!network) throw new RangeError(`There is no tab ${index}.`)
    const { office, version, faults, options, clock } = this
    const tab = new Tab({
      office,
      clock,
      version,
      seed: this.next(),
      disk: this.#disk,
      network,
      faults,
      histories: this.histories,
      polls: options.polls,
      lazy: options.lazy,
      merge: options.merges ? () => this.next() : undefined,
      ...(options.plain && { txCodec: plainCodec }),
    })
    this.#open.set(index, tab)
    this.#lives.push(tab)
    void tab.crashed.then(() => this.#open.get(index) === tab && this.crash(index))
    void tab.client.start()
    return tab
  }

  async close(index: number): Promise<void> {
    const tab = this.#open.get(index)
    this.#open.delete(index)
    if (!tab) return
    await this.office.clock.until(tab.client.close())
    tab.leave()
  }

  crash(index: number): void {
    const tab = this.#open.get(index)
    this.#open.delete(index)
    tab?.crash()
  }

  /** The user signs out in one tab, which has the data deleted. */
  async signOut(index: number): Promise<void> {
    await this.close(index)
    for (const id of this.#lives.flatMap((tab) => tab.seen)) this.#forgotten.add(id)
    await this.#disk.destroy(`instep:${JSON.stringify([`${officeUrl}/bootstrap`, user])}`)
  }

  get wasRestored(): boolean {
    return this.histories.length > 1
  }

  /** The ids of those that were on the disk, and of which nobody knows why they are gone. */
  get lost(): readonly string[] {
    const takenBack = new Set(this.#lives.flatMap((tab) => tab.takenBack))
    const synced = new Set(this.#lives.flatMap((tab) => [...tab.synced]))
    const inbox = new Set(this.tabs.flatMap((tab) => tab.client.outbox.list().map(({ id }) => id)))
    const isKnown = (id: string) =>
      takenBack.has(id) ||
      this.#forgotten.has(id) ||
      inbox.has(id) ||
      this.history.accepted.has(id) ||
      (synced.has(id) && this.histories.some(({ accepted }) => accepted.has(id)))
    return this.#lives.flatMap(({ durable }) => [...durable].filter((id) => !isKnown(id)))
  }

  /** The ids of those that happened, although somebody was told that they never would. */
  get happened(): readonly string[] {
    const all = this.#lives.flatMap(({ withdrawn }) => [...withdrawn])
    return all.flatMap(([id, how]) =>
      this.histories.some(({ accepted }) => accepted.has(id)) ? [`${id} ${how}`] : [],
    )
  }

  async #goOnWith(log: RestorableLog): Promise<void> {
    this.#log = log
    if (!this.histories.includes(log.history)) this.histories.push(log.history)
    await this.office.goOnWith(log)
  }

  async #answer(pass: () => Promise<Response>): Promise<Response> {
    const answer = this.answers.shift()
    const later = (ms: number) => new Promise<void>((resolve) => void this.office.clock.after(ms, resolve))
    if (answer === 'busy') return new Response('', { status: 503 })
    if (answer === 'too large') return new Response('', { status: 413 })
    if (answer === 'again') void later(7_000).then(pass)
    const response = await pass()
    if (answer === 'restored') await this.restore(1)
    if (answer === 'lost') throw new TypeError('fetch failed')
    if (answer === 'late') await later(2_000)
    return response
  }
}

/** For a server that looks at no requirements. */
const plainCodec: TxCodec = {
  encode: (txs) => ({ txs: txs.map(({ requires: _, ...tx }) => tx) }),
  decode: (body) => body as ReturnType<TxCodec['decode']>,
}
