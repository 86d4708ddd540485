import { isObject } from '../../protocol/json.ts'
import type { Caller } from '../auth/caller.ts'
import type { DatabaseRole } from '../log/database-role.ts'
import { RuleFailure } from '../log/rules.ts'

/**
 * Returns the role and the settings under which the ops of `caller` on tables of the application run, so that the
 * policies of these tables apply. If the function throws, or returns anything else, the request is answered with 503
 * and the client sends it again.
 */
export type ActAs = (caller: Caller) => DatabaseRole | Promise<DatabaseRole>

/** Calls `actAs`, and checks the result. Throws a RuleFailure. */
export async function roleFor(actAs: ActAs, caller: Caller): Promise<DatabaseRole> {
  try {
    return checkRole(await actAs(caller))
  } catch (error) {
    throw new RuleFailure(error)
  }
}

const known = ['role', 'settings']

/** A setting of PostgreSQL itself, whose name has no dot, could lift the policies or break Instep's own statements. */
const ownName = /^[A-Za-z_][\w$]*(\.[A-Za-z_][\w$]*)+$/

function checkRole(value: unknown): DatabaseRole {
  if (!isObject(value)) throw wrong('must return an object with `role` and `settings`')
  const unknown = Object.keys(value).find((key) => !known.includes(key))
  if (unknown !== undefined)
    throw wrong(`returned \`${unknown}\`; it may only return \`role\` and \`settings\``)
  const { role, settings } = value
  // PostgreSQL takes `none` for the role of the session, which is the role of the service.
  if (role !== undefined && (!isText(role) || role === '' || role === 'none')) {
    throw wrong('must return the name of a role in `role`')
  }
  if (settings === undefined) return { role }
  if (!isObject(settings)) throw wrong('must return an object in `settings`')
  const entries = Object.entries(settings).map(([name, setting]): [string, string] => {
    if (!ownName.test(name))
      throw wrong(`returned the setting \`${name}\`; a name must have a dot, as in \`app.user_id\``)
    if (!isText(setting)) throw wrong(`must return a text for the setting \`${name}\``)
    return [name, setting]
  })
  return { role, settings: Object.fromEntries(entries) }
}

/** Whether `value` is a text that the database can hold. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0')
}

function wrong(what: string): TypeError {
  return new TypeError(`\`as\` ${what}.`)
}
