import type { Mutation } from './mutation.ts'

const client = 'test/client/other-user.test.ts'

/** Whose data it is. */
export const callers: readonly Mutation[] = [
  {
    invariant: 44,
    test: client,
    name: 'invariant 44: a tab shows and sends nothing, and reports why',
    file: 'src/network/caller-check.ts',
    from: 'return caller !== undefined && caller !== this.caller',
    to: 'return false',
  },
  {
    invariant: 44,
    test: client,
    name: 'invariant 44: a tab shows and sends nothing, and reports why',
    file: 'src/network/http.ts',
    from: 'if (callerCheck.needsRead(call.credential)) {',
    to: 'if (!call) {',
  },
  {
    invariant: 44,
    test: client,
    name: 'invariant 44: a snapshot of another user is never shown or stored',
    file: 'src/network/snapshot.ts',
    from: 'checkCaller(scanner.caller)',
    to: '',
  },
  {
    invariant: 44,
    test: client,
    name: 'invariant 44: pushes on a socket with the token of another user are ignored',
    file: 'src/engine/realtime.ts',
    from: 'if (copy.callerCheck.isOther(push.hello.caller)) {',
    to: 'if (!copy) {',
  },
  {
    invariant: 44,
    test: client,
    name: 'invariant 44: results for another user do not count for own transactions',
    file: 'src/mutations/sender.ts',
    from: 'callerCheck.check(caller)',
    to: '',
  },
  {
    invariant: 44,
    test: client,
    name: 'invariant 44: after a reset and a restart, the owner of the data is still known',
    file: 'src/persistence/open.ts',
    from: "tx.put('meta', metaKeys.caller, present)",
    to: 'undefined',
  },
  {
    invariant: 44,
    test: client,
    name: 'invariant 44: the handler is not called again for each token of another user that it returns',
    file: 'src/network/caller-check.ts',
    from: '(error ?? new UnauthenticatedError',
    to: '(new UnauthenticatedError',
  },
  {
    invariant: 44,
    test: 'test/client/identity-of.test.ts',
    name: 'invariant 44: is never sent: nothing of its user is shown, and nothing is written in their name',
    file: 'src/network/credentials.ts',
    from: 'refuseIf(identityOf && ',
    to: 'refuseIf(!source && identityOf && ',
  },
  {
    invariant: 44,
    test: 'test/server/caller.test.ts',
    name: 'invariant 44: bootstrap, delta, tx and hello name their caller alike, and no other user so',
    file: 'src/server/http/app.ts',
    from: 'epochOf(end.history, owners), caller: callerOf(caller) }',
    to: 'epochOf(end.history, owners) }',
  },
  {
    invariant: 44,
    test: 'test/server/caller.test.ts',
    name: 'invariant 44: the caller is the user alone: no history, no organization, no process changes it',
    file: 'src/server/service.ts',
    from: "['caller', userId]",
    to: "['caller', userId, ownerField]",
  },
]
