import { ConfigurationError } from '../../../base/errors.ts'

/** Whether `name` is the address of a PostgreSQL server, not a folder. */
export function isPostgres(name: string): boolean {
  return /^postgres(ql)?:\/\//.test(name)
}

/** Throws a ConfigurationError for an invalid address. The message does not quote the address. */
export function checkAddress(address: string): void {
  const isWhole = !isCut(address) && canDecode(address)
  if (isWhole && canParse(address)) return
  if (isWhole && canParse(address.replace(/:\d+(?=[/?]|$)/, ''))) {
    throw new ConfigurationError('database', 'The port of the PostgreSQL server must be from 0 to 65535.')
  }
  throw new ConfigurationError(
    'database',
    'The address of the PostgreSQL server cannot be read; encode special characters in its password and names, such as # as `%23`, / as `%2F` and @ as `%40`.',
  )
}

/**
 * Whether a URL parser would split the address within its password, and would show the rest. Addresses of PostgreSQL
 * have no fragment, so a # is part of the password. So is everything before an @ that comes after the first / or ?.
 */
function isCut(address: string): boolean {
  return address.includes('#') || /^\w+:\/\/[^/?]*[/?].*@/s.test(address)
}

/** The host may be empty, as for a socket in a folder. A URL cannot have a user without a host. */
function canParse(address: string): boolean {
  return URL.canParse(address.replace('@/', '@localhost/'))
}

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
