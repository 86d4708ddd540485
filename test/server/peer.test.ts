import { expect, test } from 'vitest'
import { loadPeer } from '../../src/server/optional-peer.ts'

/** What Node says of `import()` or `require` of what is not there. */
const missing = (code: string) => Object.assign(new Error("Cannot find package 'hono'"), { code })

test.each(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'])(
  'an error asks for a missing package (%s)',
  async (code) => {
    await expect(loadPeer('hono', () => Promise.reject(missing(code)))).rejects.toMatchObject({
      name: 'ConfigurationError',
      option: 'hono',
      message: '`instep/server` needs the package `hono`; install it with `npm install hono`.',
    })
  },
)

test('an error says why an installed package does not load', async () => {
  const cause = new TypeError('A dynamic import callback was not specified.')
  await expect(loadPeer('hono', () => Promise.reject(cause))).rejects.toMatchObject({
    name: 'ConfigurationError',
    option: 'hono',
    message: 'The package `hono` cannot be loaded: A dynamic import callback was not specified.',
    cause,
  })
})
