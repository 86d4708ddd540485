import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']
const elsewhere = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** The path of a Chromium or Chrome: what `CHROMIUM` says, or the first one installed; `undefined` without any. */
export function findChromium() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter)]
  const paths = folders.flatMap((folder) => names.map((name) => join(folder, name)))
  return [...paths, ...elsewhere].find(isExecutable)
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
