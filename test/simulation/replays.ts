import { type Act, decides, resultsOf } from './acts.ts'
import type { Oracle } from './oracle.ts'
import { type Change, type Row, textOf } from './server-log.ts'
import { isForgetful } from './undos.ts'

/**
 * What is wrong with a change that no `mutate` asked for: only an undo or a redo makes one. It may take back or repeat what
 * its user did, and nothing that somebody else did.
 */
export function faultsOfReplay(oracle: Oracle, change: Change): readonly string[] {
  const { id, before, after } = change
  const acts = oracle.acts.filter((act) => act.write.id === id && act.does !== 'write')
  if (acts.length === 0) return [`a change was made that nobody asked for: ${id}, now ${textOf(after)}`]
  if (after === undefined) return faultsOfRemoval(oracle, change, acts)
  if (before === undefined) return faultsOfAddition(oracle, change, acts)
  const fields = new Set([...Object.keys(before), ...Object.keys(after)])
  const changed = [...fields].filter((field) => before[field] !== after[field])
  return changed.flatMap((field) => faultOfField(oracle, change, acts, field) ?? [])
}

function faultOfField(
  oracle: Oracle,
  { id, before, after }: Change,
  acts: readonly Act[],
  field: string,
): string | undefined {
  const was = before?.[field]
  const is = after?.[field]
  const about = acts.filter(({ write }) => decides(write, field))
  const undone = about.filter(({ does, write }) => does === 'undo' && write.fields[field] === was)
  if (undone.some((act) => rowsBelow(oracle, act).some((row) => row?.[field] === is))) return undefined
  const redone = about.filter(({ does, write }) => does === 'redo' && write.fields[field] === is)
  const again = redone.find((act) => rowsBefore(act).some((row) => row?.[field] === was))
  if (again) {
    again.write.befores.push(before)
    return undefined
  }
  const what = `${id}.${field} from ${was} to ${is}`
  const who = redone.length > 0 ? 'a redo' : 'an undo'
  if (acts.every((act) => oracle.isForeign(was, act)))
    return `${who} took back what somebody else wrote: ${what}`
  const [first] = undone
  if (first) return `an undo restored an older value than the one below the write: ${what}`
  return `${who} changed what it should not: ${what}`
}

function faultsOfRemoval(oracle: Oracle, { id, before }: Change, acts: readonly Act[]): readonly string[] {
  const isOwn = (act: Act) => Object.values(before ?? {}).every((value) => !oracle.isForeign(value, act))
  const holds = ({ write: { fields } }: Act) =>
    Object.entries(fields).every(([field, value]) => before?.[field] === value)
  const undone = acts.filter(({ does }) => does === 'undo')
  if (undone.some((act) => rowsBelow(oracle, act).includes(undefined) && isOwn(act) && holds(act))) return []
  const redone = acts.filter(({ does, write: { kind } }) => does === 'redo' && kind === 'delete')
  if (redone.some((act) => rowsBefore(act).some((row) => textOf(row) === textOf(before)))) return []
  return acts.some(isOwn)
    ? [`an undo or redo removed what was there before: ${id}, ${textOf(before)}`]
    : [`an undo or redo removed what somebody else wrote: ${id}, ${textOf(before)}`]
}

function faultsOfAddition(oracle: Oracle, change: Change, acts: readonly Act[]): readonly string[] {
  const { id, after } = change
  const redone = acts.filter(({ does }) => does === 'redo')
  const removal = oracle.log.removalBefore(change)
  // Whoever undoes a removal cannot know of one that came after it.
  const isUnseen = ({ does, sid, write }: Act) =>
    removal !== undefined && removal.sid > sid && (does === 'undo' ? write.kind === 'delete' : !write.base)
  const sidOf = ({ write: { transaction } }: Act) =>
    oracle.log.history.accepted.get(transaction.id) ?? Number.POSITIVE_INFINITY
  // What the user had added was not at the server when somebody removed the record: that was another one of the same id.
  const isOlder = (act: Act) =>
    act.does === 'redo' && !act.write.base && removal !== undefined && sidOf(act) > removal.sid
  const { plan } = acts[0]?.tab.device ?? {}
  const { bare } = plan ?? {}
  // A server that has not named the transaction of any frame does not say who has removed the record, but for a result at a
  // position that the tab had before it wrote: then it was somebody else.
  const hasFrames =
    bare?.deltas !== 'rows' || (bare.socket !== false && bare.pushes?.startsWith('frame') === true)
  // A delta of rows takes the place of a push without `since`, and shows no frames.
  const isConfirmed = bare?.deltas !== 'rows' || bare.since === true
  const hasNamed = () => oracle.changes.some(({ sid, tx }) => tx !== undefined && sid < change.sid)
  const isNamed = !bare || (bare.tx === true && hasFrames && isConfirmed && hasNamed())
  // The data came as a snapshot that lacks the record, and the result has a position of after the removal.
  const mayBeOwn = (act: Act) =>
    bare && plan && isForgetful(plan) && removal && act.write.sid < removal.sid && sidOf(act) >= removal.sid
  const isEarlier = (act: Act) => sidOf(act) <= act.write.sid
  if (
    (isNamed || acts.every(isEarlier)) &&
    removal &&
    removal.tx === undefined &&
    !acts.some((act) => isUnseen(act) || isOlder(act) || mayBeOwn(act))
  ) {
    const who = redone.length > 0 ? 'a redo' : 'an undo'
    return [`${who} brought back what somebody else removed: ${id}`]
  }
  const isLike = (row: Row) => textOf(row) === textOf(after)
  const undone = acts.filter(({ does, write: { kind } }) => does === 'undo' && kind === 'delete')
  if (undone.some((act) => rowsBelow(oracle, act).some(isLike))) return []
  if (redone.some(({ write: { kind, fields } }) => kind !== 'delete' && isLike(fields))) return []
  // Rows do not show the removal, and where a field is to go, the undo is a `put`.
  const hidden = hasFrames
    ? undefined
    : oracle.changes.find(({ sid, op }) => sid === removal?.sid && op === 'd')
  const made = acts.flatMap((act) => (act.does === 'undo' && hidden ? resultsOf(act, hidden.before) : []))
  if (made.some(isLike)) return []
  return [`an undo or redo brought back a record as it was not: ${id}, ${textOf(after)}`]
}

/**
 * What the record may be without the write. A user who knew that the write was in the data knew what was there before,
 * unless it was a `put` or a `delete`: a delta has nothing of the record that is older; or unless the server took it in
 * another history than that of the tab's data: the snapshot of that history may contain it.
 */
function rowsBelow(oracle: Oracle, { write, without, wasSynced, tab }: Act): readonly Row[] {
  const { base, confirmed, befores, kind } = write
  const isBare = tab.device.plan.bare !== undefined
  const isElsewhere = oracle.log.acceptedIn(write.transaction.id).some((number) => number !== write.dataOf)
  const isChange = kind === 'update' || kind === 'insert'
  const isKnown = !isBare && wasSynced && isChange && !isElsewhere && befores.length > 0
  // Without `tx`, a delta leaves out also the user's own frames that are older than a removal.
  return isKnown
    ? befores
    : [base, ...befores, ...without, ...(isBare && kind === 'delete' ? [confirmed] : [])]
}

/** What the record may have been before the write was made or sent. */
function rowsBefore({ write: { base, confirmed, befores }, without }: Act): readonly Row[] {
  return [base, confirmed, ...befores, ...without]
}
