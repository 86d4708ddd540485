import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  nextScheduleState,
  type ScheduleEffect,
  type ScheduleEvent,
  type ScheduleState,
} from '../../src/network/schedule-state.ts'

/** The effects of a story, each event with what it called for. */
function tell(...events: ScheduleEvent[]) {
  let state: ScheduleState = { name: 'halted' }
  const log: string[] = []
  for (const event of events) {
    const step = nextScheduleState(state, event)
    state = step.state
    log.push(`${event.type} → ${[...step.effects.map(print), state.name].join(', ')}`)
  }
  return log
}

function print(effect: ScheduleEffect): string {
  if (effect.type === 'wait') return `wait(${effect.failures})`
  return effect.type === 'fetch' && effect.asked ? 'fetch asked' : effect.type
}

const done: ScheduleEvent = { type: 'done', proven: true }
const failed: ScheduleEvent = { type: 'failed', floorMs: 0 }

describe('the phases', () => {
  test('fetch at the start and rest when it is done', () => {
    expect(tell({ type: 'start' }, done, { type: 'want' })).toEqual([
      'start → fetch, fetching',
      'done → resting',
      'want → fetch, fetching',
    ])
  })

  test.each(['want', 'hurry'] as const)('fetch once more after a %s meanwhile, however often', (type) => {
    expect(tell({ type: 'start' }, { type }, { type }, done, done)).toEqual([
      'start → fetch, fetching',
      `${type} → fetching`,
      `${type} → fetching`,
      'done → fetch, fetching',
      'done → resting',
    ])
  })

  test('wait longer with each failure, and begin anew after a proof', () => {
    expect(
      tell(
        { type: 'start' },
        failed,
        { type: 'due' },
        failed,
        { type: 'due' },
        done,
        { type: 'want' },
        failed,
      ),
    ).toEqual([
      'start → fetch, fetching',
      'failed → wait(1), waiting',
      'due → fetch, fetching',
      'failed → wait(2), waiting',
      'due → fetch, fetching',
      'done → resting',
      'want → fetch, fetching',
      'failed → wait(1), waiting',
    ])
  })

  test('keep counting failures over a success that proves nothing', () => {
    const unproven: ScheduleEvent = { type: 'done', proven: false }
    expect(tell({ type: 'start' }, failed, { type: 'due' }, unproven, { type: 'want' }, failed).at(-1)).toBe(
      'failed → wait(2), waiting',
    )
  })

  test('keep a wait for what may have changed, and end it for what makes trying worth while', () => {
    expect(tell({ type: 'start' }, failed, { type: 'want' }, { type: 'hurry' }).slice(2)).toEqual([
      'want → waiting',
      'hurry → unwait, fetch, fetching',
    ])
  })

  test('end a wait for whoever asks by name', () => {
    expect(tell({ type: 'start' }, failed, { type: 'ask' }).at(-1)).toBe(
      'ask → unwait, fetch asked, fetching',
    )
  })

  test('pause after a refusal until credentials may be right, or somebody asks by name', () => {
    const refused: ScheduleEvent = { type: 'refused' }
    expect(
      tell(
        { type: 'start' },
        refused,
        { type: 'want' },
        { type: 'hurry' },
        { type: 'ask' },
        refused,
        {
          type: 'resume',
        },
        { type: 'hurry' },
      ),
    ).toEqual([
      'start → fetch, fetching',
      'refused → paused',
      'want → paused',
      'hurry → paused',
      'ask → fetch asked, fetching',
      'refused → paused',
      // Refused twice in a row, so not at once.
      'resume → wait(2), waiting',
      'hurry → unwait, fetch, fetching',
    ])
  })

  test('begin again at once with other credentials, where the first ones were refused', () => {
    expect(tell({ type: 'start' }, { type: 'refused' }, { type: 'resume' })).toEqual([
      'start → fetch, fetching',
      'refused → paused',
      'resume → fetch, fetching',
    ])
  })

  test('keep a wait when others are handed, which may be refused as well', () => {
    const renew: ScheduleEvent = { type: 'renew' }
    const refused: ScheduleEvent = { type: 'refused' }
    expect(tell({ type: 'start' }, refused, renew, refused, renew, renew, { type: 'resume' })).toEqual([
      'start → fetch, fetching',
      'refused → paused',
      'renew → fetch, fetching',
      'refused → paused',
      'renew → wait(2), waiting',
      'renew → waiting',
      'resume → unwait, fetch, fetching',
    ])
  })

  test('go on after a refusal of what was begun before the credentials came that may be right', () => {
    const refused: ScheduleEvent = { type: 'refused' }
    expect(tell({ type: 'start' }, { type: 'resume' }, refused, refused, { type: 'want' })).toEqual([
      'start → fetch, fetching',
      'resume → fetching',
      'refused → fetch, fetching',
      'refused → paused',
      'want → paused',
    ])
  })

  test('fetch once when asked while not running, and not again if that fails', () => {
    expect(tell({ type: 'ask' }, failed, { type: 'due' }, { type: 'want' })).toEqual([
      'ask → fetch asked, asked',
      'failed → halted',
      'due → halted',
      'want → halted',
    ])
  })

  test('share the fetch that was asked for with a start', () => {
    expect(tell({ type: 'ask' }, { type: 'start' }, { type: 'ask' }, done)).toEqual([
      'ask → fetch asked, asked',
      'start → fetching',
      'ask → fetching',
      'done → resting',
    ])
  })

  test('stop whatever is under way', () => {
    expect(tell({ type: 'start' }, { type: 'stop' }, { type: 'start' }, failed, { type: 'stop' })).toEqual([
      'start → fetch, fetching',
      'stop → abort, halted',
      'start → fetch, fetching',
      'failed → wait(1), waiting',
      'stop → unwait, halted',
    ])
  })
})

const event = fc.oneof(
  fc.constantFrom<ScheduleEvent>(
    { type: 'start' },
    { type: 'stop' },
    { type: 'want' },
    { type: 'hurry' },
    { type: 'ask' },
    { type: 'resume' },
    { type: 'renew' },
    { type: 'due' },
    { type: 'refused' },
    failed,
    done,
  ),
)

test('there is one fetch at a time and one wait at a time, whatever happens', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      let state: ScheduleState = { name: 'halted' }
      let fetching = false
      let waiting = false
      for (const next of events) {
        // A fetch answers only while there is one, and a timer rings only while it is set.
        const answers = next.type === 'done' || next.type === 'failed' || next.type === 'refused'
        if ((answers && !fetching) || (next.type === 'due' && !waiting)) continue
        if (answers) fetching = false
        if (next.type === 'due') waiting = false
        const step = nextScheduleState(state, next)
        if (isDeepStrictEqual(step.state, state)) expect(step.state).toBe(state)
        state = step.state
        for (const effect of step.effects) {
          if (effect.type === 'fetch') {
            expect({ fetching, waiting }).toEqual({ fetching: false, waiting: false })
            fetching = true
          }
          if (effect.type === 'abort') fetching = false
          if (effect.type === 'wait') waiting = true
          if (effect.type === 'unwait') waiting = false
        }
        expect(fetching).toBe(state.name === 'fetching' || state.name === 'asked')
        expect(waiting).toBe(state.name === 'waiting')
      }
    }),
  )
})
