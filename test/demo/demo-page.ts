import { type Browser, chromium, type Page } from 'playwright-core'
import { findChromium } from '../setup/find-browsers.mjs'
import { type Demo, startDemo } from './demo-process.ts'
import { Pane } from './pane.ts'

/** The demo, running, and its page in a browser. */
export class DemoPage {
  readonly demo: Demo
  readonly page: Page
  readonly ada: Pane
  readonly ben: Pane
  /** What was thrown in the page and caught by nobody. */
  readonly failures: string[] = []
  readonly #browser: Browser

  private constructor(demo: Demo, browser: Browser, page: Page) {
    this.demo = demo
    this.page = page
    this.ada = new Pane(page, 'Ada')
    this.ben = new Pane(page, 'Ben')
    this.#browser = browser
    page.on('pageerror', ({ message }) => this.failures.push(message))
  }

  static async open(...args: readonly string[]): Promise<DemoPage> {
    const demo = await startDemo(...args)
    const browser = await chromium.launch({ executablePath: findChromium() ?? '', args: ['--no-sandbox'] })
    const page = await browser.newPage()
    const opened = new DemoPage(demo, browser, page)
    await page.goto(demo.url)
    return opened
  }

  /** The pane in which the user `name` is signed in. */
  pane(name: string): Pane {
    return new Pane(this.page, name)
  }

  get panes(): readonly Pane[] {
    return [this.ada, this.ben]
  }

  async close(): Promise<void> {
    await this.#browser.close()
    await this.demo.stop()
  }
}
