import { ConfigurationError } from '../../../base/errors.ts'

/** Whether `name` is the address of a PostgreSQL, and no folder. */
export function isPostgres(name: string): boolean {
  return /^postgres(ql)?:\/\//.test(name)
}

/** Throws a ConfigurationError, which does not quote it, for an address that cannot be read. */
export function checkAddress(address: string): void {
  const isWhole = !isCut(address) && canDecode(address)
  if (isWhole && canParse(address)) return
  if (isWhole && canParse(address.replace(/:\d+(?=[/?]|$)/, ''))) {
    throw new ConfigurationError('database', 'The port of the PostgreSQL must be from 0 to 65535.')
  }
  throw new ConfigurationError(
    'database',
    'The address of the PostgreSQL cannot be read; write what is special in its password and its names by its code, as in `%23` for a #, `%2F` for a / and `%40` for an @.',
  )
}

/**
 * Whether a URL ends its host inside the password, the rest of which it takes for something to show. PostgreSQL's have
 * nothing behind a #, and an @ behind the host is the one that ends the password.
 */
function isCut(address: string): boolean {
  return address.includes('#') || /^\w+:\/\/[^/?]*[/?].*@/s.test(address)
}

/** Where the host is left out, as for a socket's folder, a URL may have no user. */
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
