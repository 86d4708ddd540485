import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { resolveEnvironment } from '../../src/base/environment.default.ts'

const day = 24 * 3_600_000

describe('the clock', () => {
  const { clock } = resolveEnvironment()

  beforeEach(() => {
    vi.useFakeTimers({ now: 0 })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test.each([30 * day, 2 ** 31 - 1, 2 ** 31, 2 ** 32 + 5, 400 * day])(
    'invariant 63: a timer of %i ms rings once, and not before',
    (ms) => {
      const ring = vi.fn()
      clock.after(ms, ring)
      vi.advanceTimersByTime(ms - 1)
      expect(ring).not.toHaveBeenCalled()
      vi.advanceTimersByTime(1)
      expect(ring).toHaveBeenCalledOnce()
      expect(vi.getTimerCount()).toBe(0)
    },
  )

  test.each([5, 3 * 2 ** 31])('a timer of %i ms can be taken back, also when part of it is over', (ms) => {
    const ring = vi.fn()
    const cancel = clock.after(ms, ring)
    vi.advanceTimersByTime(ms - 1)
    cancel()
    cancel()
    vi.advanceTimersByTime(ms)
    expect(ring).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('now is the time', () => {
    vi.advanceTimersByTime(day)
    expect(clock.now()).toBe(day)
  })
})

test('a pause gives other tasks a turn', async () => {
  const log: string[] = []
  setImmediate(() => log.push('task'))
  await Promise.resolve()
  expect(log).toEqual([])
  const { clock } = resolveEnvironment()
  await clock.pause()
  await clock.pause()
  expect(log).toEqual(['task'])
})

test('a pause leaves nothing that keeps a process alive', async () => {
  const ports = () => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length
  const before = ports()
  await resolveEnvironment().clock.pause()
  await expect.poll(ports).toBeLessThanOrEqual(before)
})

test('bytes for identifiers are of the length asked for, and random numbers below 1', () => {
  const { random } = resolveEnvironment()
  expect(random.bytes(16)).toHaveLength(16)
  expect(random.number()).toBeLessThan(1)
})

describe('the environment', () => {
  const { lifecycle } = resolveEnvironment()

  afterEach(() => {
    vi.unstubAllGlobals()
  })

  test('outside a page are online and visible', () => {
    expect([lifecycle.online(), lifecycle.visible()]).toEqual([true, true])
    const undo = lifecycle.subscribe(() => {})
    undo()
  })

  test('are listened to while somebody subscribes', () => {
    const page = new EventTarget()
    const document = Object.assign(new EventTarget(), { visibilityState: 'hidden' })
    vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
    vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))
    vi.stubGlobal('document', document)
    const log: string[] = []
    const unsubscribe = lifecycle.subscribe((event) => log.push(event))
    page.dispatchEvent(new Event('offline'))
    page.dispatchEvent(new Event('online'))
    document.dispatchEvent(new Event('visibilitychange'))
    document.visibilityState = 'visible'
    document.dispatchEvent(new Event('visibilitychange'))
    expect(log).toEqual(['offline', 'online', 'hidden', 'visible'])
    unsubscribe()
    page.dispatchEvent(new Event('online'))
    expect(log.length).toBe(4)
  })

  describe('of a page that is left and shown again', () => {
    const page = new EventTarget()
    const document = Object.assign(new EventTarget(), { visibilityState: 'visible' })
    const log: string[] = []
    const tell = (type: 'pagehide' | 'pageshow', persisted: boolean) =>
      page.dispatchEvent(Object.assign(new Event(type), { persisted }))
    const look = (visibilityState: string) => {
      document.visibilityState = visibilityState
      document.dispatchEvent(new Event('visibilitychange'))
    }

    beforeEach(() => {
      log.length = 0
      document.visibilityState = 'visible'
      vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
      vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))
      vi.stubGlobal('document', document)
    })

    test('say that it is frozen once the application has heard that it is hidden', () => {
      const undo = lifecycle.subscribe((event) => log.push(event))
      const onVisibility = () => log.push('the application')
      document.addEventListener('visibilitychange', onVisibility)
      tell('pagehide', true)
      look('hidden')
      document.removeEventListener('visibilitychange', onVisibility)
      tell('pageshow', true)
      undo()
      expect(log).toEqual(['hidden', 'the application', 'frozen', 'resumed'])
    })

    test('say so at once if it is hidden already', () => {
      document.visibilityState = 'hidden'
      const undo = lifecycle.subscribe((event) => log.push(event))
      tell('pagehide', true)
      undo()
      expect(log).toEqual(['frozen'])
    })

    test('say nothing of a page that is not kept', () => {
      const undo = lifecycle.subscribe((event) => log.push(event))
      tell('pagehide', false)
      tell('pageshow', false)
      look('hidden')
      undo()
      expect(log).toEqual(['hidden'])
    })
  })

  test('are let go of once, also where the next listener comes outside a page', () => {
    const page = new EventTarget()
    vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
    vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))
    lifecycle.subscribe(() => {})()
    vi.unstubAllGlobals()
    expect(lifecycle.subscribe(() => {})).not.toThrow()
  })
})

test('a part that is given takes the place of the default', () => {
  const fetch = vi.fn()
  expect(resolveEnvironment({ fetch, location: 'https://h/' })).toMatchObject({
    fetch,
    location: 'https://h/',
  })
  expect(resolveEnvironment({ WebSocket: undefined }).WebSocket).toBeUndefined()
})

test('localStorage is that of a page, and missing where the browser blocks it', () => {
  expect(resolveEnvironment().localStorage).toBeUndefined()
  const own = {}
  vi.stubGlobal('document', {})
  vi.stubGlobal('localStorage', own)
  expect(resolveEnvironment().localStorage).toBe(own)
  vi.unstubAllGlobals()
  vi.stubGlobal('document', {})
  Object.defineProperty(globalThis, 'localStorage', {
    configurable: true,
    get() {
      throw new DOMException('Blocked.', 'SecurityError')
    },
  })
  expect(resolveEnvironment().localStorage).toBeUndefined()
  Reflect.deleteProperty(globalThis, 'localStorage')
  vi.unstubAllGlobals()
})

test('the WebSocket is the global one, unless it is missing or headers are to be sent', () => {
  expect(resolveEnvironment().WebSocket?.sendsHeaders).toBe(globalThis.WebSocket ? undefined : true)
  const Own = class {}
  vi.stubGlobal('WebSocket', Own)
  expect(resolveEnvironment().WebSocket).toBe(Own)
  expect(resolveEnvironment({}, true).WebSocket?.sendsHeaders).toBe(true)
  vi.unstubAllGlobals()
})
