import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { PacedClock } from '../support/paced-clock.ts'
import { json, ListSink, ManualBody, outcomeOf, setup } from '../support/transport-calls.ts'
import { settle } from '../support/virtual.ts'

const row = (id: number) => JSON.stringify({ t: 'a', id: String(id), p: { body: 'x'.repeat(80) } })
const rows = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => row(from + index)).join()

/** A snapshot call whose body a test feeds. */
function begin<Sink extends ListSink>(sink: Sink, headers: Record<string, string> = {}) {
  const body = new ManualBody()
  const { transport, clock } = setup(() => new Response(body.stream, { headers }))
  const controller = new AbortController()
  const result = outcomeOf(transport.bootstrap(sink, controller.signal))
  return { clock, controller, body, sink, result }
}

test('rows arrive while the snapshot streams in', async () => {
  const { body, sink, result } = begin(new ListSink())
  await settle()
  body.sends(`{"rows":[${rows(0, 1500)},`)
  await settle()
  expect(sink.slices.map((slice) => slice.rows.length)).toEqual([1000])
  expect(result.settled).toBe(false)
  body.sends(`${rows(1500, 10)}],"sid":4}`)
  body.ends()
  await settle()
  expect(sink.slices.map((slice) => slice.rows.length)).toEqual([1000, 510])
  expect(result.value).toEqual({ sid: 4 })
})

describe('the sink sets the pace', () => {
  /** A sink that takes a slice when it is told to. */
  class SlowSink extends ListSink {
    readonly waiting: (() => void)[] = []

    override async slice(slice: Parameters<ListSink['slice']>[0]): Promise<void> {
      await super.slice(slice)
      await new Promise<void>((resolve) => this.waiting.push(resolve))
    }
  }

  test('nothing is read while the sink handles a slice, and that time does not count as silence of the server', async () => {
    const { body, sink, result, clock } = begin(new SlowSink())
    await settle()
    body.sends(`{"rows":[${rows(0, 400)},`)
    body.sends(`${rows(400, 700)},`)
    body.sends(`${rows(1100, 1000)},`)
    await settle()
    const { pulls } = body
    expect(sink.slices).toHaveLength(1)
    await clock.advance(3_600_000)
    expect([sink.slices.length, body.pulls, result.settled]).toEqual([1, pulls, false])
    sink.waiting.shift()?.()
    await settle()
    expect(sink.slices).toHaveLength(2)
  })

  test('its error ends the request, and the body is released', async () => {
    const full = new Error('The disk is full.')
    const refusing = new ListSink()
    refusing.slice = () => Promise.reject(full)
    const { body, result, clock } = begin(refusing)
    await settle()
    body.sends(`{"rows":[${rows(0, 1001)}`)
    await settle()
    expect(result.error).toBe(full)
    expect([body.cancelled, clock.timers]).toEqual([true, 0])
  })

  test('an abort while it handles the last slice ends the request with its reason', async () => {
    const { body, sink, result, controller } = begin(new SlowSink())
    await settle()
    body.sends(`{"rows":[${rows(0, 1001)}`)
    await settle()
    controller.abort(new Error('Enough.'))
    sink.waiting.shift()?.()
    await settle()
    expect(result.error).toEqual(new Error('Enough.'))
  })

  test('an abort while it handles a slice withholds the next one', async () => {
    const { body, sink, result, controller } = begin(new SlowSink())
    await settle()
    body.sends(`{"rows":[${rows(0, 1001)}],"sid":1}`)
    body.ends()
    await settle()
    const reason = new Error('Enough.')
    controller.abort(reason)
    sink.waiting.shift()?.()
    await settle()
    expect([result.error, sink.slices.length]).toEqual([reason, 1])
  })
})

describe('progress', () => {
  const half = `${rows(0, 1000)},`
  const fractions = (sink: ListSink) => sink.progresses.map(({ fraction }) => fraction)

  test('counts rows and decoded bytes as they arrive', async () => {
    const { body, sink } = begin(new ListSink())
    await settle()
    body.sends('{"sid":1,"rows":[')
    await settle()
    expect(sink.progresses).toEqual([{ rows: 0, bytes: 17, fraction: undefined }])
    body.sends(`${half}`)
    await settle()
    const last = sink.progresses.at(-1)
    expect(last).toEqual({ rows: 1000, bytes: 17 + half.length, fraction: undefined })
  })

  test('is a fraction of `count` if that precedes the rows', async () => {
    const { body, sink, result } = begin(new ListSink(), { 'Content-Length': '999999' })
    await settle()
    body.sends(`{"count":2000,"rows":[${half}`)
    await settle()
    expect(fractions(sink).at(-1)).toBe(0.5)
    body.sends(`${rows(1000, 1000)}],"sid":1}`)
    body.ends()
    await settle()
    expect([result.value?.sid, fractions(sink).at(-1)]).toEqual([1, 1])
  })

  test('is a fraction of Content-Length otherwise', async () => {
    const text = `{"rows":[${half}${rows(1000, 1000)}],"sid":1}`
    const { body, sink } = begin(new ListSink(), { 'Content-Length': String(text.length) })
    await settle()
    body.sends(text.slice(0, text.length / 4))
    body.sends(text.slice(text.length / 4))
    body.ends()
    await settle()
    expect(fractions(sink)[0]).toBeCloseTo(0.25, 3)
    expect(fractions(sink).at(-1)).toBe(1)
  })

  test('is unknown with a content coding, and if more rows arrive than announced', async () => {
    for (const headers of [
      { 'Content-Length': '100', 'Content-Encoding': 'gzip' },
      { 'Content-Length': '10' },
    ]) {
      const { body, sink } = begin(new ListSink(), headers)
      await settle()
      body.sends('{"sid":1,"rows":[')
      await settle()
      expect(fractions(sink)).toEqual([undefined])
    }
  })

  test('is unknown across origins, since the content coding is hidden there', async () => {
    const body = new ManualBody()
    const response = new Response(body.stream, { headers: { 'Content-Length': '100' } })
    Object.defineProperty(response, 'type', { value: 'cors' })
    const sink = new ListSink()
    outcomeOf(setup(() => response).transport.bootstrap(sink))
    await settle()
    body.sends('{"sid":1,"rows":[')
    await settle()
    expect(fractions(sink)).toEqual([undefined])
  })

  test('is unknown if `count` is not a number of rows', async () => {
    const { body, sink } = begin(new ListSink())
    await settle()
    body.sends('{"count":"2000","rows":[')
    await settle()
    expect(fractions(sink)).toEqual([undefined])
  })

  test('of a snapshot without rows is complete', async () => {
    const { body, sink } = begin(new ListSink())
    await settle()
    body.sends('{"count":0,"rows":[')
    await settle()
    expect(fractions(sink)).toEqual([1])
  })
})

test('a runtime that cannot stream responses gets its rows at the end', async () => {
  const response = new Response(`{"sid":1,"rows":[${rows(0, 3)}]}`)
  Object.defineProperty(response, 'body', { value: undefined })
  const sink = new ListSink()
  await setup(() => response).transport.bootstrap(sink)
  expect(sink.slices.flatMap((slice) => slice.rows)).toHaveLength(3)
})

test('a runtime that cannot stream responses times out, and can be aborted', async () => {
  const silent = () =>
    Object.defineProperties(new Response(''), {
      body: { value: undefined },
      arrayBuffer: { value: () => new Promise(() => {}) },
    })
  const { transport, clock } = setup(silent)
  const result = outcomeOf(transport.bootstrap(new ListSink()))
  await clock.advance(30_000)
  expect(result.error).toMatchObject({ name: 'NetworkError', code: 'timeout' })
  const unwanted = new AbortController()
  const other = outcomeOf(transport.bootstrap(new ListSink(), unwanted.signal))
  await settle()
  unwanted.abort(new Error('Enough.'))
  await settle()
  expect(other.error).toEqual(new Error('Enough.'))
})

test('other tasks run while many rows arrive at once, also if a runtime cannot stream', async () => {
  for (const streams of [true, false]) {
    const clock = new PacedClock(5)
    const response = new Response(`{"sid":1,"rows":[${rows(0, 5000)}]}`)
    if (!streams) Object.defineProperty(response, 'body', { value: undefined })
    const { transport } = setup(() => response, { clock })
    await transport.bootstrap(new ListSink())
    expect(clock.turns).toBeGreaterThan(2)
  }
})

test('further rows wait until other tasks have run', async () => {
  const clock = new PacedClock(5)
  const turns: (() => void)[] = []
  clock.pause = () => new Promise((resolve) => turns.push(resolve))
  const { transport } = setup(() => new Response(`{"sid":1,"rows":[${rows(0, 5000)}]}`), { clock })
  const sink = new ListSink()
  const result = outcomeOf(transport.bootstrap(sink))
  await settle()
  const { length } = sink.progresses
  await settle()
  expect([turns.length, sink.progresses.length, result.settled]).toEqual([1, length, false])
  turns.shift()?.()
  await settle()
  expect(sink.progresses.length).toBeGreaterThan(length)
})

test('other tasks run before a delta is applied that took long to parse', async () => {
  const clock = new PacedClock()
  const { transport } = setup(() => json({ sid: 9, frames: [] }), { clock })
  const { parse } = JSON
  let parsingMs = 3
  vi.spyOn(JSON, 'parse').mockImplementation((text) => {
    clock.pass(parsingMs)
    return parse(text)
  })
  onTestFinished(() => void vi.restoreAllMocks())
  await transport.delta(1)
  expect(clock.turns).toBe(0)
  parsingMs = 5
  await transport.delta(1)
  expect(clock.turns).toBe(1)
})
