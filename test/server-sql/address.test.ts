import { expect, test } from 'vitest'
import { checkAddress } from '../../src/server/log/sql/address.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'

test.each([
  'postgres://u:hun#ter2@h:5432/d',
  'postgres://u:12#ter2@h/d',
  'postgres://u:10%zzter2@h/d',
  'postgres://u:a/ter2@h/d',
  'postgres://u:12/ter2@h:5432/d',
  'postgres://u:/hun/ter2@h/d',
  'postgres://u:12?ter2@h/d',
  'postgres://u:a@12/ter2@h/d',
  'postgres://ter2:12/x@h/d',
])('an invalid address is refused without quoting it: %s', async (address) => {
  const error: unknown = await openSqlLog(address).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({
    name: 'ConfigurationError',
    message: expect.stringContaining('# as `%23`'),
  })
  expect(`${error} ${JSON.stringify(error)}`).not.toContain('ter2')
})

test.each(['postgres://u:ter2@h:99999/d', 'postgres://u:12@h:65536', 'postgres://h:99999?sslmode=require'])(
  'the error for an invalid port names the port: %s',
  (address) => {
    expect(() => checkAddress(address)).toThrow(
      /^The port of the PostgreSQL server must be from 0 to 65535\.$/,
    )
  },
)

test.each([
  'postgres://u:p%23%2F@h:5432/d?sslmode=verify-full',
  'postgresql://u@localhost/d?host=/var/run/postgresql',
  'postgres://u@/d?host=/tmp',
  'postgres:///d',
  'postgres://u:p%2F%40@h:5432/d?application_name=u%40h',
  'postgres://u:p@ss@h/d',
  'postgres://u@%2Ftmp/d',
])('an address that PostgreSQL accepts is accepted: %s', (address) => {
  expect(() => checkAddress(address)).not.toThrow()
})
