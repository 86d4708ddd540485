import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { isSyncError, type SyncError, UnauthenticatedError } from '../../src/base/errors.ts'
import { type CredentialOptions, createCredentials, headersOf } from '../../src/network/credentials.ts'

const thrownBy = async (body: () => unknown): Promise<SyncError> => {
  try {
    await body()
  } catch (error) {
    if (isSyncError(error)) return error
    throw error
  }
  throw new Error('It did not throw.')
}

const headers = async (options: CredentialOptions) => headersOf(await createCredentials(options).get())

describe('what is sent', () => {
  test('a token goes into Authorization, an API key into X-API-Key, and neither sends nothing', async () => {
    expect(await headers({ token: 'abc' })).toEqual({ Authorization: 'Bearer abc' })
    expect(await headers({ apiKey: () => Promise.resolve('k1') })).toEqual({ 'X-API-Key': 'k1' })
    expect(await headers({})).toEqual({})
  })

  test.each([null, undefined, ''])(
    'a source that returns %j means that nobody is signed in',
    async (value) => {
      const error = await thrownBy(createCredentials({ token: () => value }).get)
      expect(error).toBeInstanceOf(UnauthenticatedError)
      expect(error.message).toMatch(/no `token` to send/)
    },
  )
})

describe('a source that fails', () => {
  test('passes an UnauthenticatedError through', async () => {
    const own = new UnauthenticatedError('The refresh token has expired.')
    const credentials = createCredentials({ token: () => Promise.reject(own) })
    await expect(credentials.get()).rejects.toBe(own)
  })

  test('causes a retryable NetworkError with the class and code of its error, without its message', async () => {
    const failure = Object.assign(new TypeError('POST /refresh?rt=s3cret'), {
      code: 'ECONNREFUSED',
      config: { headers: 's3cret' },
    })
    const error = await thrownBy(createCredentials({ token: () => Promise.reject(failure) }).get)
    expect(error).toMatchObject({ name: 'NetworkError', code: 'unreachable', retryable: true })
    expect((error.cause as Error).message).toBe('TypeError ECONNREFUSED')
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('s3cret')
  })

  test('reports the code of its error, unless a code or name is long enough to be a credential', async () => {
    const told = async (failure: Error) => {
      const error = await thrownBy(createCredentials({ token: () => Promise.reject(failure) }).get)
      return (error.cause as Error).message
    }
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    expect(await told(new TypeError('fetch failed', { cause: refused }))).toBe('TypeError ECONNREFUSED')
    const long = 's3cret'.repeat(7)
    expect(await told(Object.assign(new Error('x'), { name: long, code: long }))).not.toContain('s3cret')
  })

  test.each(['s3cret', null, { token: 's3cret' }])(
    'that throws %j is reported without that value',
    async (thrown) => {
      const token = () => {
        throw thrown
      }
      const error = await thrownBy(createCredentials({ token }).get)
      expect(error.name).toBe('NetworkError')
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('s3cret')
    },
  )
})

describe('a credential that no header can carry causes a ConfigurationError that does not quote it', () => {
  test.each(['a\nb', 'a b', 'ä', '\u0000', 'a\r\nX-Evil: 1'])('%j', async (value) => {
    const early = await thrownBy(() => createCredentials({ apiKey: value }))
    const late = await thrownBy(createCredentials({ token: () => value }).get)
    const given = await thrownBy(() => createCredentials({}).use(value))
    for (const error of [early, late, given]) {
      expect(error.name).toBe('ConfigurationError')
      expect(error.message).toMatch(/holds a character that no header can carry; expected visible ASCII/)
      expect(error.message).not.toContain(value)
    }
    expect(early).toMatchObject({ option: 'apiKey' })
    expect(late).toMatchObject({ option: 'token' })
  })

  test('another type, or both options', async () => {
    const wrong = () => createCredentials({ token: 5 as never })
    expect((await thrownBy(wrong)).message).toMatch(/`token` is not a string/)
    const late = createCredentials({ token: () => ({}) as never })
    expect((await thrownBy(late.get)).name).toBe('ConfigurationError')
    const both = () => createCredentials({ token: 'a', apiKey: 'b' })
    expect(await thrownBy(both)).toMatchObject({ name: 'ConfigurationError', option: 'apiKey' })
  })
})

describe('a replacement', () => {
  test('is used as long as the source returns the old credential', async () => {
    let current: string | null = 'old'
    const credentials = createCredentials({ token: () => current })
    const value = async () => (await credentials.get())?.value
    expect(await value()).toBe('old')
    credentials.use('fresh')
    expect(await value()).toBe('fresh')
    expect(await value()).toBe('fresh')
    current = 'newer'
    expect(await value()).toBe('newer')
    current = 'old'
    expect(await value()).toBe('old')
  })
})

describe('a refusal', () => {
  const bearer = (value: string) => ({ scheme: 'bearer', value }) as const

  test('is forgotten after a while, so that renewed tokens do not fill the memory', () => {
    const { refuse, rejected, accepted } = createCredentials({ token: 'x' })
    for (let n = 0; n < 1_000; n += 1) {
      expect(rejected(refuse('401', bearer(`a${n}`)))).toBe(true)
      accepted(bearer(`a${n + 1}`))
    }
    expect(['a999', 'a990', 'a0'].map((value) => rejected(refuse('401', bearer(value))))).toEqual([
      false,
      false,
      true,
    ])
  })

  test('does not print the credential', () => {
    const error = createCredentials({ token: 'x' }).refuse('401', bearer('s3cret'))
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('s3cret')
    expect(JSON.stringify(error)).not.toContain('s3cret')
  })
})
