import type { Write } from './acts.ts'
import type { Oracle } from './oracle.ts'
import type { Plan } from './plan.ts'
import { type Change, type Row, textOf } from './server-log.ts'
import type { Tab } from './tab.ts'

/** A user wishes to take writes back, or to have them again. */
export interface Wish {
  readonly does: 'undo' | 'redo'
  /** More than one if it is not certain which one is meant. */
  readonly targets: readonly Write[]
  readonly tab: Tab
  /** What the user was told. `undefined`: nothing yet. */
  outcome: Outcome | undefined
  /** When the user was told. */
  toldAt: number
}

/** `nothing`: there is nothing to take back. `untold`: the write was cancelled before it was sent. */
type Outcome = 'failed' | 'nothing' | 'cancelled' | 'done'

/** What can make a client forget the frames of its writes, so that it knows only what it showed when they were made. */
const forgetful = ['trim', 'restore', 'epoch', 'store', 'crash', 'die', 'close', 'freeze', 'stand still']

/** Whether a client may get data as a snapshot or as rows, which do not say who has changed what. */
export function isForgetful({ steps, bare }: Plan): boolean {
  return bare?.deltas === 'rows' || steps.some(({ what }) => forgetful.some((word) => what.includes(word)))
}

/**
 * Judges what undo and redo have done by what users did and what the server decided: by no client's own data. An undo takes
 * back what its write did at the server, as far as nobody has changed that since.
 */
export class Undos {
  readonly wishes: Wish[] = []
  readonly #oracle: Oracle
  readonly #isForgetful: boolean

  constructor(oracle: Oracle, plan: Plan) {
    this.#oracle = oracle
    this.#isForgetful = isForgetful(plan)
  }

  /** `undoing`: what the client returned. */
  wish(wish: Pick<Wish, 'does' | 'targets' | 'tab'>, undoing: Promise<unknown>, now: () => number): Wish {
    const made: Wish = { ...wish, outcome: undefined, toldAt: Number.POSITIVE_INFINITY }
    const tell = (outcome: Outcome) => {
      // What a killed tab would have said, nobody hears.
      if (wish.tab.hasCrashed) return
      made.outcome = outcome
      made.toldAt = now()
    }
    this.wishes.push(made)
    undoing.then(
      (value) => tell(value === false ? 'nothing' : value === undefined ? 'cancelled' : 'done'),
      () => tell('failed'),
    )
    return made
  }

  /** Says what is wrong once all is settled; `rows`: what the server has. */
  check(rows: ReadonlyMap<string, Row>): void {
    for (const write of this.#oracle.writes) {
      const wishes = this.wishes.filter(({ targets }) => targets.includes(write))
      // What a tab without a disk has not sent is lost when it is closed.
      const isLost = (tab: Tab) => tab.hasCrashed || (tab.hasNoDisk && !tab.isOpen)
      const isClear = wishes.every(({ targets, tab }) => targets.length === 1 && !isLost(tab))
      if (wishes.length > 0 && isClear) this.#judge(write, wishes, rows.get(write.id))
    }
  }

  #judge(write: Write, wishes: readonly Wish[], row: Row): void {
    const { name, id, transaction, kind, fields } = write
    const { changes, log } = this.#oracle
    if (log.histories.length > 1 || wishes.some(({ outcome }) => !outcome || outcome === 'failed')) return
    // Without a disk, a refused undo waits in the inbox.
    const hasRefused = [...log.history.refused].some((id) => !this.#oracle.writeOf(id))
    if (hasRefused && wishes.some(({ tab }) => tab.hasNoDisk)) return
    const own = changes.findLast(({ tx }) => tx === transaction.id)
    const others = changes.filter((change) => change.id === id && this.#isOther(change, own, write))
    const isAlone = others.length === 0 && !this.wishes.some((wish) => this.#isOtherWish(wish, write))
    for (const { does, outcome, toldAt } of wishes) {
      if (own && does === 'undo' && outcome === 'cancelled')
        this.#oracle.fault(`a write that was cancelled in time has happened: ${name}`)
      const hadOthers = others.some(({ at }) => at <= toldAt)
      const isFirst = wishes[0]?.toldAt === toldAt
      // Rows have not shown that the record was gone, so that the insert seemed to change nothing.
      const seemsIdle =
        kind === 'insert' && this.#oracle.mayHideRemoval(id) && own && log.removalBefore(own) !== undefined
      if (own && !seemsIdle && isFirst && isAlone && !hadOthers && outcome === 'nothing')
        this.#oracle.fault(`what could be taken back was not: ${name}`)
    }
    const last = wishes.findLast(({ outcome }) => outcome !== 'nothing')
    if (!own || !last) return
    const isUndone = last.does === 'undo'
    const expected = isUndone ? this.#belowOf(write, own) : [own.after]
    if (isAlone && !expected.some((one) => textOf(one) === textOf(row)))
      this.#oracle.fault(
        `${isUndone ? 'an undone' : 'a redone'} write is ${isUndone ? 'still' : 'not'} in the data: ${name}; the server has ${id} as ${textOf(row)}, not as ${expected.map(textOf).join(' or ')}`,
      )
    const isAdded = own.before === undefined || kind === 'delete'
    const left = Object.entries(fields).find(([field, value]) => row?.[field] === value)
    if (isUndone && !isAdded && left && !this.wishes.some((wish) => this.#isOtherWish(wish, write)))
      this.#oracle.fault(`a field of an undone write is still in the data: ${name}; ${id}.${left.join(' ')}`)
  }

  /** Whether somebody, the user included, has changed the record since by anything but undoing and redoing `write`. */
  #isOther({ sid, tx }: Change, own: Change | undefined, { transaction }: Write): boolean {
    const isLater = own !== undefined && sid > own.sid
    return isLater && tx !== transaction.id && (tx === undefined || this.#oracle.writeOf(tx) !== undefined)
  }

  #isOtherWish({ targets }: Wish, write: Write): boolean {
    return targets.some((one) => one !== write && one.id === write.id)
  }

  /** What the record may be without the write. */
  #belowOf({ kind, base, befores, fields }: Write, { before }: Change): readonly Row[] {
    // A delta has nothing of the record that is older than a removal, or than the record put in its place.
    const mayBeOlder = this.#isForgetful || kind === 'delete' || kind === 'put'
    if (!mayBeOlder) return [before]
    if (kind !== 'update' || !before || !base) return [before, base, ...befores]
    const names = Object.keys(fields)
    return names.reduce<readonly NonNullable<Row>[]>(
      (rows, field) =>
        rows.flatMap(({ [field]: was, ...rest }) =>
          [...new Set([was, base[field]])].map((value) =>
            value === undefined ? rest : { ...rest, [field]: value },
          ),
        ),
      [before],
    )
  }
}
