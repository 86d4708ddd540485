import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of a Chromium or Chrome: what `CHROMIUM` says, or the first one installed; `undefined` without any. */
export function findChromium() {
  return find(
    'CHROMIUM',
    ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'],
    [
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
      '/Applications/Chromium.app/Contents/MacOS/Chromium',
    ],
  )
}

/** The path of a Firefox: what `FIREFOX` says, or the first one installed. */
export function findFirefox() {
  return find('FIREFOX', ['firefox-esr', 'firefox'], ['/Applications/Firefox.app/Contents/MacOS/firefox'])
}

/** The path of WebKitGTK's MiniBrowser: what `WEBKIT` says, or where Debian has it. */
export function findWebKit() {
  const libraries = '/usr/lib'
  const folders = existsSync(libraries) ? readdirSync(libraries) : []
  return find(
    'WEBKIT',
    [],
    folders.map((folder) => join(libraries, folder, 'webkit2gtk-4.1/MiniBrowser')),
  )
}

/** The path of the X server without a screen, in which a WebKit shows its window. */
export function findXvfb() {
  return find('XVFB', ['Xvfb'], [])
}

function find(variable, names, places) {
  const told = process.env[variable]
  if (told) return told
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter)]
  return [...folders.flatMap((folder) => names.map((name) => join(folder, name))), ...places].find(
    isExecutable,
  )
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
