import { expect, test } from 'vitest'
import { launchEngine } from './engines.ts'
import { makeProfile } from './in-browser.ts'
import { servePage } from './page-server.ts'

const times = 12

// An engine promises nothing here: Chromium 156 keeps nine of ten, Firefox 153 all, and WebKitGTK 2.50 none.
test.each(['chromium', 'firefox'] as const)(
  'a write while the page closes is usually not lost, in %s',
  async (engineName) => {
    const server = await servePage(new URL('./pages/leaving.ts', import.meta.url))
    const { profile, remove } = await makeProfile()
    const engine = await launchEngine(engineName, profile)
    try {
      await engine.open(`${server.url}?times=${times}`)
      expect((await server.next('found')).value).toBeGreaterThan(times / 4)
    } finally {
      await engine.kill()
      await server.close()
      await remove()
    }
  },
)
