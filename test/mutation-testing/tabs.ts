import type { Mutation } from './mutation.ts'

const test = 'test/tabs/following.test.ts'

export const tabs: readonly Mutation[] = [
  {
    invariant: 39,
    test,
    name: 'invariant 39, invariant 68: a write in a follower is durable at once, and sent once by the leader',
    file: 'src/mutations/mutations.ts',
    from: 'if (options.follows()) return false',
    to: '',
  },
  {
    invariant: 40,
    test,
    name: 'invariant 40: a tab leads within 5 s when the leader stands still (after %s ms)',
    file: 'src/engine/following.ts',
    from: 'this.#unanswered += 1',
    to: '',
  },
  {
    invariant: 40,
    test: 'test/persistence/fence.test.ts',
    name: 'invariant 40: a transaction stays in the outbox if the delta that contains it is refused',
    file: 'src/persistence/fence.ts',
    from: 'also(tx)',
    to: 'this.#connection.transaction({ tables, mode: "write" }, also)',
  },
  {
    invariant: 41,
    test,
    name: 'invariant 41: a tab with another version of the models follows nobody, and is in step all the same',
    file: 'src/engine/following.ts',
    from: 'lead.version === version',
    to: 'lead.version > 0',
  },
  {
    invariant: 42,
    test,
    name: 'invariant 42: five tabs hold one socket, and a change is fetched for all of them at once',
    file: 'src/engine/on-commit.ts',
    from: '&& !state.isRefused && !leader',
    to: '&& !state.isRefused',
  },
  {
    invariant: 68,
    test,
    name: 'invariant 39, invariant 68: a write in a follower is durable at once, and sent once by the leader',
    file: 'src/engine/following.ts',
    from: 'listener.outbox(message.news)',
    to: '',
  },
  {
    invariant: 69,
    test,
    name: 'invariant 69: a tab that misses the messages about changes is in step within 5 s',
    file: 'src/engine/following.ts',
    from: "else feed.hear({ kind: 'position', sid: lead.sid })",
    to: '',
  },
  {
    invariant: 70,
    test,
    name: 'invariant 70: what a follower wrote is sent by the next leader when the leader dies',
    file: 'src/engine/parts.ts',
    from: 'follows: () => this.following.leader !== undefined',
    to: 'follows: () => this.following.hears',
  },
  {
    invariant: 71,
    test: 'test/tabs/refresh.test.ts',
    name: 'invariant 71: a refresh token is redeemed once, although another tab takes the lead meanwhile',
    file: 'src/engine/refresh.ts',
    from: 'if (!lock) await refresh()',
    to: 'if (lock) await refresh()',
  },
]
