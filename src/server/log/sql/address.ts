import { ConfigurationError } from '../../../base/errors.ts'

/** Whether `name` is the address of a PostgreSQL, and no folder. */
export function isPostgres(name: string): boolean {
  return /^postgres(ql)?:\/\//.test(name)
}

/** Throws a ConfigurationError, which does not quote it, for an address that cannot be read. */
export function checkAddress(address: string): void {
  // PostgreSQL's have nothing behind a #: one that is there belongs to the password.
  if (!address.includes('#') && canParse(address) && canDecode(address)) return
  throw new ConfigurationError(
    'database',
    'The address of the PostgreSQL cannot be read; write what is special in its password by its code, as in `%23` for a #.',
  )
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
