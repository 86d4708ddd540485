import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

/** One user's half of the page. */
export class Pane {
  readonly name: string
  readonly region: Locator
  readonly #page: Page

  constructor(page: Page, name: string) {
    this.#page = page
    this.name = name
    this.region = page.getByRole('region', { name, exact: true })
  }

  /** Resolves once the pane says `text`. */
  async says(text: string | RegExp): Promise<void> {
    await this.region.getByText(text, { exact: true }).first().waitFor()
  }

  async standsAt(position: string): Promise<void> {
    await expect.poll(() => this.fact('Position'), { timeout: 10_000 }).toBe(position)
  }

  async fact(name: string): Promise<string> {
    const [value = ''] = await this.region.locator('dt', { hasText: name }).locator('+ dd').allTextContents()
    return value
  }

  async press(name: string): Promise<void> {
    await this.region.getByRole('button', { name }).click()
  }

  async search(name: string): Promise<void> {
    await this.region.getByRole('searchbox', { name: 'Name' }).fill(name)
  }

  async chooseCountry(name: RegExp): Promise<void> {
    const select = this.region.getByRole('combobox', { name: 'Country' })
    const option = select.getByRole('option', { name })
    await select.selectOption(await option.getAttribute('value'))
  }

  /** The names in the rows that are in sight. */
  names(): Promise<string[]> {
    return this.region.locator('td.key').allTextContents()
  }

  async scrollToEnd(): Promise<void> {
    await this.region.locator('.scroller').focus()
    await this.#page.keyboard.press('End')
  }
}
