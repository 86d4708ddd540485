const categories = ['toplevel', 'devtools.timeline', 'v8', 'blink.user_timing']

/**
 * Runs `work` under a trace of the page that `session` is attached to. Gives the page's longest task from its last mark
 * `begin` on, in ms, without the time in which it collected garbage: what others left behind is collected in whose task it may be.
 */
export async function maxTask(session, work) {
  const events = []
  const collect = ({ value }) => events.push(...value)
  session.on('Tracing.dataCollected', collect)
  await session.send('Tracing.start', { transferMode: 'ReportEvents', categories: categories.join() })
  await work()
  const complete = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve))
  await session.send('Tracing.end')
  const { dataLossOccurred } = await complete
  session.off('Tracing.dataCollected', collect)
  if (dataLossOccurred) throw new Error('The trace has lost a part of what happened.')

  const begin = events.filter(({ name, cat }) => name === 'begin' && cat === 'blink.user_timing').at(-1)
  if (!begin) throw new Error('The page did not mark its beginning.')
  const since = events.filter(
    ({ pid, tid, ts, dur }) => pid === begin.pid && tid === begin.tid && ts + dur > begin.ts,
  )
  const collections = since.filter(({ name }) => name === 'MinorGC' || name === 'MajorGC')
  let longest = 0
  for (const task of since.filter(({ name }) => name.endsWith('RunTask'))) {
    if (task.dur <= longest) continue
    const inside = collections.filter(({ ts }) => ts >= task.ts && ts < task.ts + task.dur)
    const from = Math.max(task.ts, begin.ts)
    const own = task.ts + task.dur - from - inside.reduce((sum, { dur }) => sum + dur, 0)
    longest = Math.max(longest, own)
  }
  return longest / 1000
}
