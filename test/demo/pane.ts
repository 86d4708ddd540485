import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

/** What a user writes about a place, by the names that the form has for it. */
export interface Written {
  readonly Name?: string
  readonly Note?: string
  /** In stars. */
  readonly Rating?: number
}

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

  /** Resolves once the pane says `text`; rejects after `timeout` ms. */
  async says(text: string | RegExp, timeout = 30_000): Promise<void> {
    await this.region.getByText(text, { exact: true }).first().waitFor({ timeout })
  }

  async standsAt(position: string): Promise<void> {
    await expect.poll(() => this.fact('Position')).toBe(position)
  }

  async fact(name: string): Promise<string> {
    const [value = ''] = await this.region.locator('dt', { hasText: name }).locator('+ dd').allTextContents()
    return value
  }

  async press(name: string): Promise<void> {
    await this.region.getByRole('button', { name }).click()
  }

  async cut(): Promise<void> {
    await this.press(`Cut ${this.name}’s cable`)
    await this.says('Offline')
  }

  async mend(): Promise<void> {
    await this.press(`Mend ${this.name}’s cable`)
    await this.says('Live')
  }

  async search(name: string): Promise<void> {
    await this.region.getByRole('searchbox', { name: 'Name' }).fill(name)
  }

  async chooseCountry(name: RegExp): Promise<void> {
    const select = this.region.getByRole('search').getByRole('combobox', { name: 'Country' })
    const option = select.getByRole('option', { name })
    await select.selectOption(await option.getAttribute('value'))
  }

  /** The names in the rows that are in sight. */
  names(): Promise<string[]> {
    return this.region.locator('td.key').allTextContents()
  }

  /** What the list scrolls in. */
  get list(): Locator {
    return this.region.locator('.scroller')
  }

  async scrollToEnd(): Promise<void> {
    await this.list.focus()
    await this.#page.keyboard.press('End')
  }

  /** The button that stands for a place in the list. */
  place(name: string): Locator {
    return this.list.getByRole('button', { name, exact: true })
  }

  /** Opens a place, writes into it, and saves. */
  async edit(name: string, written: Written): Promise<void> {
    await this.place(name).click()
    await this.write(name, written)
  }

  async write(form: string, { Name, Note, Rating }: Written): Promise<void> {
    const editor = this.region.getByRole('form', { name: form })
    if (Name !== undefined) await editor.getByRole('textbox', { name: 'Name' }).fill(Name)
    if (Note !== undefined) await editor.getByRole('textbox', { name: 'Note' }).fill(Note)
    if (Rating !== undefined) {
      await editor.getByRole('combobox', { name: 'Rating' }).selectOption(String(Rating))
    }
    await editor.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => editor.count()).toBe(0)
  }

  /** Resolves once the row of a place says just this of it. */
  async shows(name: string, { Note = '', Rating = 0 }: Written): Promise<void> {
    const row = this.list.locator('tbody tr', {
      has: this.#page.getByRole('button', { name, exact: true }),
    })
    const said = () => row.locator('td.rating, td.note').allTextContents()
    await expect.poll(said).toEqual(['★'.repeat(Rating), Note])
  }

  /** Resolves once the newest edit is called `label`, and has come so far. */
  async lastEdit(label: string, lights: string): Promise<void> {
    const edit = this.region.locator('.edits li').first()
    const said = async () => [
      await edit.locator('.name').textContent(),
      (await edit
        .getByRole('img')
        .getAttribute('aria-label', { timeout: 1_000 })
        .catch(() => undefined)) ?? (await edit.locator('.end').textContent()),
    ]
    await expect.poll(said).toEqual([expect.stringContaining(label), lights])
  }

  /** A refused edit, which waits for the user. */
  refused(label: string): Locator {
    return this.region.getByRole('region', { name: 'Refused edits' }).getByRole('article', { name: label })
  }
}
