import { memoryStore } from '../../../src/index.ts'
import { at, type Message, Office } from '../../support/office.ts'
import type { VirtualNetwork } from '../../support/virtual-network.ts'
import { Tab } from './tab.ts'

/** What becomes of the answer to a request with transactions. */
export type Answer = 'lost' | 'late' | 'busy'

export interface BrowserOptions {
  readonly seed: number
  readonly tabs: number
  /** Whether the service refuses to have one of the records written. */
  readonly refuses: boolean
}

/** A browser of Ada's with some tabs, which have one disk, before Instep's own service. */
export class Browser {
  readonly office: Office
  /** What may not happen, and did. */
  readonly faults: string[] = []
  /** What becomes of the next answers. */
  readonly answers: Answer[] = []
  /** Of the application that a tab opens. */
  version = 1
  readonly networks: readonly VirtualNetwork[]
  readonly #disk = memoryStore()
  readonly #open = new Map<number, Tab>()
  readonly #lives: Tab[] = []
  /** What the service said of each: its `sid`, or why it refused it. */
  readonly #verdicts = new Map<string, number | string>()
  #count: number

  static async open(options: BrowserOptions): Promise<Browser> {
    const authorize = ({ id }: { readonly id: string }) =>
      options.refuses && id === '0' ? { message: 'Refused by chance.' } : undefined
    return new Browser(await Office.open({ authorize }), options)
  }

  private constructor(office: Office, { seed, tabs }: BrowserOptions) {
    this.office = office
    this.#count = seed
    this.networks = Array.from({ length: tabs }, () => office.desk().network)
    office.intercept = at('tx', (_, pass) => this.#answer(pass))
  }

  /** A number that was not there before. */
  next(): number {
    this.#count += 1
    return this.#count
  }

  /** The tab of this number, opened if need be. */
  tab(index: number): Tab {
    const open = this.#open.get(index)
    if (open) return open
    const network = this.networks[index]
    if (!network) throw new RangeError(`There is no tab ${index}.`)
    const { office, version, faults } = this
    const tab = new Tab({ office, version, seed: this.next(), disk: this.#disk, network, faults })
    this.#open.set(index, tab)
    this.#lives.push(tab)
    void tab.client.start()
    return tab
  }

  async close(index: number): Promise<void> {
    const tab = this.#open.get(index)
    this.#open.delete(index)
    if (tab) await this.office.clock.until(tab.client.close())
  }

  crash(index: number): void {
    this.#open.get(index)?.crash()
    this.#open.delete(index)
  }

  /** The ids of those that were on the disk, and of which nobody knows why they are gone. */
  get lost(): readonly string[] {
    const known = new Set([...this.#verdicts.keys(), ...this.#lives.flatMap((tab) => tab.takenBack)])
    return this.#lives.flatMap(({ durable }) => [...durable].filter((id) => !known.has(id)))
  }

  /** The ids of those that happened, although somebody was told that they never would. */
  get happened(): readonly string[] {
    return this.#lives.flatMap(({ withdrawn }) =>
      [...withdrawn].filter((id) => typeof this.#verdicts.get(id) === 'number'),
    )
  }

  async #answer(pass: () => Promise<Response>): Promise<Response> {
    const answer = this.answers.shift()
    if (answer === 'busy') return new Response('', { status: 503 })
    const response = await pass()
    if (response.status === 200) {
      const { results = [] }: Message = await response.clone().json()
      for (const { id, ...verdict } of results) {
        this.#verdicts.set(id, 'error' in verdict ? verdict.error.code : verdict.sid)
      }
    }
    if (answer === 'lost') throw new TypeError('fetch failed')
    if (answer === 'late') await new Promise<void>((resolve) => void this.office.clock.after(2_000, resolve))
    return response
  }
}
