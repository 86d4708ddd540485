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
  ['transactionCodec', {}],
  ['transactionCodec', noFunction],
  ['transactionCodec', { encode: true, decode: () => [] }],
  ['transactionCodec', { encode: () => '', decode: () => [], maxTransactions: 0 }],
  ['transactionCodec', null],
  ['merge', 'mine'],
  ['echoTimeout', '500'],
  ['echoTimeout', -1],
  ['logger', noFunction],
  ['logger', null],
  ['environment', 'web'],
  ['stroe', durable],
])('a client whose %s is %j is refused, and the option is named', (option, value) => {
  const base = option === 'endpoints' ? {} : { baseUrl }
  expect(() => make({ ...base, [option]: value })).toThrow(
    expect.objectContaining({ name: 'ConfigurationError', option }),
  )
})

test('a durable store without an identity is refused; a memory store is not', () => {
  expect(() => make({ baseUrl, store: durable })).toThrow(
    expect.objectContaining({ name: 'ConfigurationError', option: 'identity' }),
  )
  make({ baseUrl, store: memoryStore() })
  make({ baseUrl, store: durable, identity: null })
})

test('minimum values are accepted, and undefined counts as omitted', () => {
  make({ baseUrl, token: undefined, store: undefined, pollInterval: undefined, environment: undefined })
  make({ baseUrl, apiKey: () => null, pollInterval: 100, echoTimeout: 0, environment: {} })
  const transactionCodec = { encode: () => '', decode: () => [] }
  make({ baseUrl, transactionCodec })
  make({ baseUrl, transactionCodec: { ...transactionCodec, maxTransactions: 1 } })
})
