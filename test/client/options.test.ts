import { expect, test } from 'vitest'
import { memoryStore, SyncClient } from '../../src/index.ts'
import { baseUrl } from '../support/device.ts'

/** As from plain JavaScript, where no type is checked. */
const make = (options: unknown) => new SyncClient(options as never)
const durable = { ...memoryStore(), kind: 'durable' }
const noFunction = { open: true, begin: true, encode: () => '', decode: true, warn: true }

test.each<[string, unknown]>([
  ['baseUrl', ''],
  ['baseUrl', 5],
  ['endpoints', 'https://api.example.com'],
  ['endpoints', null],
  ['token', ''],
  ['token', 5],
  ['apiKey', ''],
  ['apiKey', 5],
  ['identity', ''],
  ['identity', 5],
  ['onUnauthenticated', 'sign in'],
  ['models', 'Issue'],
  ['store', noFunction],
  ['store', null],
  ['pollInterval', '500'],
  ['pollInterval', 99],
  ['pollInterval', Number.NaN],
  ['txCodec', noFunction],
  ['txCodec', { encode: true, decode: () => [] }],
  ['txCodec', { encode: () => '', decode: () => [], maxTransactions: 0 }],
  ['txCodec', null],
  ['merge', 'mine'],
  ['echoWait', '500'],
  ['echoWait', -1],
  ['logger', noFunction],
  ['logger', null],
  ['world', 'web'],
  ['stroe', durable],
])('a client whose %s is %j is refused, and the option is named', (option, value) => {
  const base = option === 'endpoints' ? {} : { baseUrl }
  expect(() => make({ ...base, [option]: value })).toThrow(
    expect.objectContaining({ name: 'ConfigurationError', option }),
  )
})

test('a durable store without an identity is refused; without data to keep apart, or none to keep, it is not', () => {
  expect(() => make({ baseUrl, store: durable })).toThrow(
    expect.objectContaining({ name: 'ConfigurationError', option: 'identity' }),
  )
  make({ baseUrl, store: memoryStore() })
  make({ baseUrl, store: durable, identity: null })
})

test('the least that is allowed is taken, and what is undefined counts as left out', () => {
  make({ baseUrl, token: undefined, store: undefined, pollInterval: undefined, world: undefined })
  make({ baseUrl, apiKey: () => null, pollInterval: 100, echoWait: 0, world: {} })
  const txCodec = { encode: () => '', decode: () => [] }
  make({ baseUrl, txCodec })
  make({ baseUrl, txCodec: { ...txCodec, maxTransactions: 1 } })
})
