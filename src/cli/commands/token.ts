import { defaultMaxLifetimeMs } from '../../server/auth/jwt.ts'
import { signToken } from '../../server/auth/sign-token.ts'
import type { Command } from '../command.ts'
import { UsageError } from '../failure.ts'
import { secretNote, secretsIn } from '../secret.ts'
import { configOption } from '../settings.ts'

export const token: Command = {
  name: 'token',
  about: 'Prints a token for a user.',
  options: {
    user: { about: 'The id of the user: the claim `sub` (the first owner)', value: 'id' },
    organization: { about: 'The id of the organization: the claim `org`', value: 'id' },
    owner: {
      about: 'An owner whose records the user sees, as in team:a; may be repeated: the claim `owners`',
      value: 'id',
      repeats: true,
    },
    expires: { about: 'How long the token is valid, at most 30d (7d)', value: 'time' },
    config: configOption,
  },
  notes: [secretNote],
  async run(settings, { env, stdout }) {
    // Only from the command line: `owner` in a file or in the environment is the owner for `import`.
    const owners = settings.valuesInCommandLine('owner')
    const userId = settings.text('user') ?? owners[0] ?? settings.required('user', 'the id of a user')
    const organizationId = settings.text('organization')
    const lifetimeMs = settings.duration('expires')
    if (lifetimeMs !== undefined && (lifetimeMs < 1_000 || lifetimeMs > defaultMaxLifetimeMs)) {
      // The service refuses tokens with a longer lifetime.
      throw new UsageError('`--expires` must be from 1s to 30d.')
    }
    const [secret] = secretsIn(env)
    const signed = await signToken({
      secret,
      userId,
      ...(organizationId === undefined ? undefined : { organizationId }),
      ...(owners.length === 0 ? undefined : { owners }),
      ...(lifetimeMs === undefined ? undefined : { lifetimeMs }),
    })
    stdout.write(`${signed}\n`)
  },
}
