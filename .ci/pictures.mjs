// Takes the README's pictures of the demo, in light and dark: `node .ci/pictures.mjs`, after `npm run build`.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { findChromium } from '../test/setup/find-browsers.mjs'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))

const demo = spawn(process.execPath, [path('../examples/demo/start.mjs'), '--port', '0', '--country', 'IS'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] })
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 840 } })
  page.setDefaultTimeout(60_000)
  await page.goto(await addressOf(demo))
  await prepare(page)
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: path(`../.github/demo-${colorScheme}.png`), animations: 'disabled' })
  }
} finally {
  await browser.close()
  demo.kill()
}

/** Resolves with the address that the demo prints. */
async function addressOf({ stdout }) {
  let output = ''
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    output += chunk
    const [, url] = /^ *Open (http:\S+)$/m.exec(output) ?? []
    if (url) return url
  }
  throw new Error(`The demo did not start: ${output}`)
}

/** Both users have edited towns. Ben is offline, and has an edit to send. */
async function prepare(page) {
  const [ada, ben] = ['Ada', 'Ben'].map((name) => page.getByRole('region', { name, exact: true }))
  for (const pane of [ada, ben]) {
    await says(pane, 'Live')
    // So that the page starts from its disk.
    await pane.getByRole('button', { name: 'Reload' }).click()
    await says(pane, 'Live')
  }
  await edit(ada, 'Akureyri', 'Whales', '5')
  await edit(ben, 'Borgarnes', 'Egil’s farm', '4')
  for (const pane of [ada, ben]) await pane.getByRole('row', { name: /farm/ }).waitFor()
  await ben.getByRole('button', { name: 'Cut Ben’s cable' }).click()
  await says(ben, 'Offline')
  await edit(ben, 'Akranes', 'By ferry', '3')
  await edit(ada, 'Álftanes', 'Ask Ben', '3')
  await says(ben, '1 to send')
  const lights = ada.locator('.edits li').first().getByRole('img', { name: 'on disk, accepted, synced' })
  await lights.waitFor()
  await page.mouse.move(0, 0)
  await page.evaluate(() => {
    document.activeElement?.blur()
    for (const list of document.querySelectorAll('.scroller')) list.scrollTop = 0
    scrollTo(0, 0)
  })
}

function says(pane, text) {
  return pane.getByText(text, { exact: true }).first().waitFor()
}

async function edit(pane, name, note, rating) {
  await pane.locator('.scroller').getByRole('button', { name, exact: true }).first().click()
  const editor = pane.getByRole('form', { name })
  await editor.getByRole('textbox', { name: 'Note' }).fill(note)
  await editor.getByRole('combobox', { name: 'Rating' }).selectOption(rating)
  await editor.getByRole('button', { name: 'Save' }).click()
  await editor.waitFor({ state: 'detached' })
}
