import { load, percentile } from './bench.mjs'

/** How long a write takes to be on the last socket of its owner, the first second left out. */
export async function measureFanOut(options) {
  const { database, serve, tokenOf, say, owners, socketsEach, perSecond, seconds } = options
  const tokens = await Promise.all(Array.from({ length: owners }, (_, n) => tokenOf(`owner-${n}`)))
  const service = await serve(database)
  try {
    say(`${perSecond} writes a second for ${seconds} s`)
    const job = { kind: 'fanOut', url: service.url, tokens, socketsEach, perSecond, seconds }
    const { latencies, perSecond: sent, failed, lost } = await load(job)
    const counted = latencies.slice(perSecond)
    const [half, most] = [0.5, 0.99].map((share) => percentile(counted, share).toFixed(1))
    const what = `${owners} owners with ${socketsEach} sockets, ${sent.toFixed(0)} writes a second`
    const bad = failed + lost > 0 ? `; ${failed} refused, ${lost} never came` : ''
    const told = `median ${half} ms, p99 ${most} ms${bad}`
    return [[what, told, owners === 1 ? 'median ≤ 10 ms' : 'p99 ≤ 100 ms']]
  } finally {
    await service.stop()
  }
}
