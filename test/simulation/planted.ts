import type { Mode } from './plan.ts'

/** A change of one line: what takes the place of `from`, which is in `file` once. */
interface Change {
  readonly file: string
  readonly from: string
  readonly to: string
}

/** A bug that opens a hole again, and the seeds of the simulation that find it. */
export interface PlantedBug {
  /** What the client then does. */
  readonly hole: string
  readonly mode: Mode
  /** It is found by a seed from 1 to this one. */
  readonly within: number
  /** More than one where two lines guard the same hole. */
  readonly changes: readonly Change[]
}

/** Each opens a hole that a sentence on leader, tabs, numbers, credentials, signing out or undoing closes (docs/tabs.md, docs/writing.md). */
export const planted: readonly PlantedBug[] = [
  {
    hole: 'a request goes out before the disk knows that its transactions are being sent',
    mode: 'undo',
    within: 60,
    changes: [
      {
        file: 'src/mutations/acknowledgements.ts',
        from: 'if (send.length === 0) return',
        to: 'if (send.length >= 0) return',
      },
    ],
  },
  {
    hole: 'a transaction is sent that another tab has cancelled',
    mode: 'undo',
    within: 60,
    changes: [
      {
        file: 'src/persistence/outbox.ts',
        from: "send: ['queued', 'sending', 'accepted'],",
        to: "send: ['queued', 'sending', 'accepted', 'cancelled'],",
      },
    ],
  },
  {
    hole: 'what is undone before it was sent is sent, and then its inverse',
    mode: 'undo',
    within: 20,
    changes: [
      {
        file: 'src/mutations/outbox.ts',
        from: "return (state === 'writing' || state === 'queued') && !wasSent",
        to: "return state === 'writing' && !wasSent",
      },
    ],
  },
  {
    hole: 'a tab sends before the server has answered a read',
    mode: 'undo',
    within: 20,
    changes: [
      {
        file: 'src/mutations/mutations.ts',
        from: 'const isReached = options.isReached() === true',
        to: 'const isReached = true',
      },
    ],
  },
  {
    hole: 'a gap between two numbers of the outbox does not let the leader read it before it sends',
    mode: 'tabs',
    within: 80,
    changes: [
      {
        file: 'src/mutations/outbox.ts',
        from: 'if (key !== nextKey(this.#last)) this.mayDiffer = true',
        to: '',
      },
    ],
  },
  {
    hole: 'a transaction that has ended leaves no end in its place, so that its number is given again',
    mode: 'tabs',
    within: 150,
    changes: [
      {
        file: 'src/persistence/journal.ts',
        from: "tx.put('outbox', key, JSON.stringify({ ...rest, key }))",
        to: "tx.delete('outbox', key)",
      },
    ],
  },
  {
    hole: 'the leader does not hear what another tab has stored',
    mode: 'tabs',
    within: 20,
    changes: [
      {
        file: 'src/engine/following.ts',
        from: 'listener.outbox(message.entries)',
        to: '',
      },
    ],
  },
  {
    hole: 'a follower does not hear from the leader how far it should be',
    mode: 'tabs',
    within: 100,
    changes: [
      {
        file: 'src/engine/following.ts',
        from: "else feed.hear({ kind: 'position', sid: lead.sid })",
        to: '',
      },
    ],
  },
  {
    hole: 'a page that comes back goes on as if it had never been away',
    mode: 'pages',
    within: 40,
    changes: [
      {
        file: 'src/engine/on-lifecycle.ts',
        from: "parts.dispatch('start')",
        to: '',
      },
    ],
  },
  {
    hole: 'data of another history is taken for a continuation',
    mode: 'server',
    within: 20,
    changes: [
      {
        file: 'src/engine/position.ts',
        from: "if (isOtherEpoch(state, delta.epoch)) return { ...nothing(state), reset: 'epoch' }",
        to: '',
      },
    ],
  },
  {
    hole: 'the answer to whoever is signed in is believed',
    mode: 'other user',
    within: 20,
    changes: [
      {
        file: 'src/network/caller-check.ts',
        from: 'return caller !== undefined && caller !== this.caller',
        to: 'return false',
      },
    ],
  },
  {
    hole: 'new credentials write before they have read',
    mode: 'other user',
    within: 20,
    changes: [
      {
        file: 'src/network/caller-check.ts',
        from: 'return this.caller !== undefined && (!credential || credential.value !== this.#readWith)',
        to: 'return false',
      },
    ],
  },
  {
    hole: 'the owner of the data is not stored with it',
    mode: 'other user',
    within: 60,
    changes: [
      {
        file: 'src/persistence/connection.ts',
        from: "tx.put('meta', metaKeys.caller, caller)",
        to: 'undefined',
      },
      {
        file: 'src/persistence/outbox.ts',
        from: 'caller: entry.caller ?? caller()',
        to: 'caller: undefined',
      },
    ],
  },
  {
    hole: 'a record of another life is sent',
    mode: 'pages',
    within: 150,
    changes: [
      {
        file: 'src/persistence/outbox.ts',
        from: 'record.life === undefined || life === undefined || record.life === life',
        to: 'record.life !== null',
      },
    ],
  },
  {
    hole: 'a write to the outbox does not compare the life of the database',
    mode: 'pages',
    within: 900,
    changes: [
      {
        file: 'src/persistence/outbox.ts',
        from: 'if (now !== undefined && now !== life) throw signedOut()',
        to: '',
      },
    ],
  },
  {
    hole: 'signing out leaves the data',
    mode: 'pages',
    within: 100,
    changes: [
      {
        file: 'src/persistence/sign-out.ts',
        from: 'drop(tx)',
        to: '',
      },
    ],
  },
  {
    hole: 'a new leader does not read what the one before has stored',
    mode: 'tabs',
    within: 60,
    changes: [
      {
        file: 'src/engine/on-disk.ts',
        from: 'await copy.attach()',
        to: "if (found === 'first') await copy.attach()",
      },
    ],
  },
  {
    hole: 'a write that the store may have taken unheard is given up',
    mode: 'store',
    within: 150,
    changes: [
      {
        file: 'src/persistence/outbox.ts',
        from: "const parts = [...(isAgain ? put : []).map((entry): Part => ['keep', entry]), ...changes]",
        to: 'const parts = changes',
      },
    ],
  },
  {
    hole: 'a leader that stands still is waited for',
    mode: 'pages',
    within: 20,
    changes: [
      {
        file: 'src/engine/following.ts',
        from: 'this.#unanswered += 1',
        to: '',
      },
    ],
  },
  {
    hole: 'the open transaction of a frozen page is not aborted',
    mode: 'pages',
    within: 60,
    changes: [
      {
        file: 'src/persistence/connection.ts',
        from: 'return await connection.transaction({ ...options, signal }, body)',
        to: 'return await connection.transaction(options, body)',
      },
    ],
  },
  {
    hole: 'an undo looks for its frames only by the name of the transaction',
    mode: 'bare server',
    within: 60,
    changes: [
      {
        file: 'src/mutations/acknowledgements.ts',
        from: 'return this.#ownFrames.effectsOf(transaction, sid)',
        to: 'return undefined',
      },
      {
        file: 'src/mutations/optimistic-updates.ts',
        from: 'return wasSent && isContained(opsOn(record.ops, key), images.get(key), data) ? image : { t, id, p }',
        to: 'return { t, id, p }',
      },
    ],
  },
  {
    hole: 'a transaction that no frame names is taken back by what it showed',
    mode: 'bare server',
    within: 150,
    changes: [
      {
        file: 'src/mutations/acknowledgements.ts',
        from: 'if (hasTx || isNamed) return this.#shown.has(transaction.id) ? undefined : []',
        to: '',
      },
    ],
  },
  {
    hole: 'an undo that finds nothing to take back says that its transaction was never sent',
    mode: 'undo',
    within: 80,
    changes: [
      {
        file: 'src/mutations/transaction-maker.ts',
        from: 'if (written.ops.length === 0) return false',
        to: 'if (written.ops.length === 0) return undefined',
      },
    ],
  },
  {
    hole: 'a frozen page takes an eviction for a sign-out',
    mode: 'disk',
    within: 60,
    changes: [
      {
        file: 'src/persistence/connection.ts',
        from: 'begun !== undefined || (!this.#isLost && (await wasDeleted()))',
        to: 'true',
      },
    ],
  },
  {
    hole: 'a database that was deleted on purpose is opened again',
    mode: 'tabs',
    within: 60,
    changes: [
      {
        file: 'src/persistence/connection.ts',
        from: 'store && !this.#isGone && !this.#isClosed',
        to: 'store && !this.#isClosed',
      },
    ],
  },
  {
    hole: 'the leader does not look for what a killed tab has stored',
    mode: 'disk',
    within: 100,
    changes: [
      {
        file: 'src/engine/following.ts',
        from: 'listener.lookForNew()',
        to: '',
      },
    ],
  },
  {
    hole: 'a write that the disk may have stored without an answer fails',
    mode: 'disk',
    within: 60,
    changes: [
      {
        file: 'src/mutations/transaction-maker.ts',
        from: "error.code === 'signed_out' ||",
        to: "error.code !== 'closed' ||",
      },
    ],
  },
  {
    hole: 'a tab does not ask the leader for room',
    mode: 'disk',
    within: 40,
    changes: [
      {
        file: 'src/engine/on-disk.ts',
        from: 'parts.following.askForRoom()',
        to: 'Promise.resolve()',
      },
    ],
  },
  {
    hole: 'an accepted write that the data contains already undoes to nothing',
    mode: 'bare server',
    within: 100,
    changes: [
      {
        file: 'src/mutations/optimistic-updates.ts',
        from: 'return wasSent && isContained(opsOn(record.ops, key), images.get(key), data) ? image : { t, id, p }',
        to: 'return { t, id, p }',
      },
    ],
  },
  {
    hole: 'an inserted record that came as a whole row is not removed',
    mode: 'bare server',
    within: 100,
    changes: [
      {
        file: 'src/mutations/acknowledgements.ts',
        from: 'const isLast = row && this.#ownFrames.isLast(transaction, sid, key, row.v)',
        to: 'const isLast = false',
      },
    ],
  },
  {
    hole: 'a removal that changed nothing is undone',
    mode: 'bare server',
    within: 150,
    changes: [
      {
        file: 'src/mutations/acknowledgements.ts',
        from: 'if (hasTx || isNamed) return this.#shown.has(transaction.id) ? undefined : []',
        to: '',
      },
    ],
  },
  {
    hole: 'an undo removes a record that somebody else has changed before the data came as a snapshot',
    mode: 'bare server',
    within: 150,
    changes: [
      {
        file: 'src/mutations/own-frames.ts',
        from: "return sid === this.#unknownTo || isOwn(v) || (v === 1 && opsOn(ops, key).some(({ op }) => op === 'i'))",
        to: 'return true',
      },
    ],
  },
  {
    hole: 'a client does not see that frames name their transactions',
    mode: 'bare server',
    within: 150,
    changes: [
      {
        file: 'src/mutations/own-frames.ts',
        from: 'this.#hasTx ||= frames.some(({ tx }) => tx !== undefined)',
        to: '',
      },
      {
        file: 'src/mutations/sender.ts',
        from: "const hasTx = features.includes('tx')",
        to: 'const hasTx = false',
      },
    ],
  },
]
