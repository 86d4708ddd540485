import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { findChromium } from '../test/setup/find-browsers.mjs'

/** Speaks the DevTools protocol with one target. Playwright would make each page believe that it is in front. */
async function attach(url) {
  const socket = new WebSocket(url, { maxPayload: 2 ** 30 })
  await once(socket, 'open')
  const events = new EventEmitter()
  const waiting = new Map()
  let last = 0
  socket.on('message', (data) => {
    const { id, method, params, result, error } = JSON.parse(data)
    if (method) events.emit(method, params)
    else if (error) waiting.get(id)?.reject(new Error(error.message))
    else waiting.get(id)?.resolve(result)
  })
  return Object.assign(events, {
    close: () => socket.close(),
    send(method, params = {}) {
      last += 1
      const id = last
      socket.send(JSON.stringify({ id, method, params }))
      return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }))
    },
  })
}

/** A Chromium with `profile`, in whose tabs the script of the page has put a `tab` of functions. */
export async function startChromium(profile) {
  const args = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run']
  const more = ['--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank']
  const child = spawn(findChromium(), [...args, ...more], { stdio: 'ignore' })
  let port
  for (let tries = 0; !port; tries += 1) {
    if (tries === 300) throw new Error('Chromium did not start within 30 s.')
    await pause(100)
    port = (await readFile(join(profile, 'DevToolsActivePort'), 'utf8').catch(() => '')).split('\n')[0]
  }
  const ask = (path, method) => fetch(`http://127.0.0.1:${port}/json/${path}`, { method })
  const { webSocketDebuggerUrl } = await (await ask('version')).json()
  const browser = await attach(webSocketDebuggerUrl)
  const blank = (await (await ask('list')).json()).find(({ type }) => type === 'page').id
  const toFront = async (id) => {
    await ask(`activate/${id}`)
    await pause(300)
  }
  return {
    /** Brings an empty tab to the front. */
    hideAll: () => toFront(blank),
    async open(url) {
      const { targetId } = await browser.send('Target.createTarget', { url, background: true })
      const session = await attach(`ws://127.0.0.1:${port}/devtools/page/${targetId}`)
      const run = async (expression) => {
        const asked = { expression, awaitPromise: true, returnByValue: true }
        const { result, exceptionDetails } = await session.send('Runtime.evaluate', asked)
        if (exceptionDetails)
          throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
        return result.value
      }
      while (!(await run(`"tab" in globalThis`).catch(() => false))) await pause(20)
      return {
        session,
        call: (name) => run(`tab.${name}()`),
        toFront: () => toFront(targetId),
        async close() {
          session.close()
          await ask(`close/${targetId}`)
          await pause(300)
        },
      }
    },
    async quit() {
      await browser.send('Browser.close')
      await once(child, 'exit')
    },
  }
}
