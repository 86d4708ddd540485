import { type Act, resultsOf, type Write } from './acts.ts'
import { calmModes, hasDiskMoment, type Plan } from './plan.ts'
import { faultsOfReplay } from './replays.ts'
import { type Change, type Row, ServerLog, textOf } from './server-log.ts'
import { answerMs } from './stores.ts'
import { ids, type Tab } from './tab.ts'
import { Undos } from './undos.ts'

/** How long a tab may take to hear of what another one did, in ms. */
const graceMs = 1_000

/**
 * An undo or a redo that somebody else's change has overtaken may lie over that change for so long, in ms, until the server
 * has judged it. So long may a tab not show what a lost message said.
 */
const unjudgedMs = 2_500

/** What is under way to the server when the user signs out arrives within so long, in ms. */
const underWayMs = 1_000

/** Where nothing is wrong, a write is stored and sent within so long, in ms. */
const promptMs = 60_000

/** Where tabs hear each other and nothing else is wrong, a write is sent within so long, in ms. */
const soonMs = 6_000

/** What a killed tab has stored is sent by another one within so long, in ms. */
const leftMs = 12_000

/** A tab tries a disk again after so long at most, in ms. */
const laterMs = 600_000

/** A tab that has seen a write in the data for so long, in ms, and could store that, holds it no more. */
const goneMs = 5_000

/** The same, if the disk failed in between: a tab opens a database again after a minute, then after four. */
const goneAfterTroubleMs = 300_000

/** A change, and when it was. */
export interface TimedChange extends Change {
  readonly at: number
}

/** What the server said of one transaction. */
export interface Result {
  readonly id: string
  readonly sid?: number
  readonly error?: { readonly code: string }
}

/** Where an act may be laid over a tab's data. */
type Presence = 'yes' | 'maybe' | 'no'

/** More rows, or orders of what was done, than this, and nothing is said of a record. */
const maxRows = 200
const maxOrders = 500

/**
 * Says what may not happen. It knows what was done (by whom, where and when), what the server accepted, and what users were
 * told; it asks no client what is pending.
 */
export class Oracle {
  readonly log = new ServerLog()
  readonly writes: Write[] = []
  readonly acts: Act[] = []
  /** What the server has changed, in order. */
  readonly changes: TimedChange[] = []
  readonly undos: Undos
  readonly faults: string[] = []
  /** How many writes a disk has taken. */
  #places = 0
  readonly #byId = new Map<string, Write>()
  /** Who wrote a value; others are not in it. */
  readonly #authors = new Map<number, Write>()
  readonly #now: () => number
  readonly #plan: Plan
  /** Whether the rows of a snapshot may be newer than its position. */
  readonly #isEarly: boolean
  /** Whether all that comes is frames, each of which says whose transaction it is of. */
  readonly #namesTx: boolean
  /** Whether the server and its line never fail. */
  readonly #isCalm: boolean
  readonly #hasDiskMoment: boolean

  constructor(now: () => number, plan: Plan) {
    this.#now = now
    this.#plan = plan
    this.undos = new Undos(this, plan)
    this.#isEarly = plan.dialect?.snapshotTo === 'rows'
    this.#isCalm = calmModes.has(plan.mode)
    this.#hasDiskMoment = hasDiskMoment(plan)
    this.#namesTx = !plan.bare || (plan.bare.tx === true && plan.bare.deltas !== 'rows')
  }

  fault(text: string): void {
    if (!this.faults.includes(text)) this.faults.push(text)
  }

  /** Whether it is a value that nobody wrote on the device of `act`. */
  isForeign(value: number | undefined, { tab }: Act): boolean {
    return value !== undefined && this.#authors.get(value)?.tab.device !== tab.device
  }

  writeOf(tx: string | undefined): Write | undefined {
    return tx === undefined ? undefined : this.#byId.get(tx)
  }

  wrote(write: Write): void {
    this.writes.push(write)
    this.#byId.set(write.transaction.id, write)
    for (const value of Object.values(write.fields)) this.#authors.set(value, write)
    this.acts.push({
      does: 'write',
      write,
      tab: write.tab,
      without: [],
      isCertain: true,
      wasSynced: false,
      at: write.at,
      sid: 0,
    })
  }

  /** What `id` may show in `tab` without `write`. */
  without(tab: Tab, write: Write): readonly Row[] {
    return this.#rows(tab, write.id, (act) => (act.write === write ? 'no' : this.#presence(act, tab))) ?? []
  }

  /** The server has received transactions from a device. */
  received(txs: readonly string[], isOther: boolean): void {
    if (isOther) this.fault('something was sent under the name of another user')
    for (const tx of txs) {
      const write = this.#byId.get(tx)
      if (!write) continue
      const { name, told } = write
      if (write.isTraceless) this.fault(`what was undone before it could be sent reached the server: ${name}`)
      const first = this.log.histories.find(({ accepted }) => accepted.has(tx))
      if (write.isGone && first !== this.log.history)
        this.fault(`what was seen in the data was sent again after a restore: ${name}`)
      else if (write.isGone) this.fault(`what was seen in the data was sent again: ${name}`)
      if (told.end === 'cancelled' && !this.#mayHaveHung(write) && !this.#hasLostCancel(write))
        this.fault(`a cancelled write was sent: ${name}`)
      const { overSince = Number.POSITIVE_INFINITY } = write
      if (this.#now() - overSince > underWayMs && !this.#mayNotKnowOfSignOut(write))
        this.fault(`something was sent after its user had signed out: ${name}`)
    }
  }

  /** A disk has stored transactions. Whether it did not have one of them, which a user has written. */
  stored(txs: readonly string[]): boolean {
    const added = txs.flatMap((tx) => this.#byId.get(tx) ?? []).filter(({ committed }) => !committed)
    for (const write of added) {
      write.committed = this.#now()
      this.#places += 1
      write.place = this.#places
    }
    return added.length > 0
  }

  /** The disk has taken nothing of what `tab` has asked of it. */
  refused(tab: Tab): void {
    const now = this.#now()
    // The tab may have heard of it before, and have stored the write again at once.
    for (const write of this.writes)
      write.wasRefused ||= write.tab === tab && (write.told.durable ?? now) >= now
  }

  /** Other tabs may not know yet that the write was cancelled: the disk has not answered for some time. */
  #mayHaveHung({ tab: { device } }: Write): boolean {
    const { storeFineSince = this.#now() } = device
    return this.#now() - storeFineSince < answerMs
  }

  /** The tab that cancelled it was killed before its disk had that, and before its user was told. */
  #hasLostCancel(write: Write): boolean {
    const wishes = this.undos.wishes.filter(({ targets }) => targets.includes(write))
    return wishes.length > 0 && wishes.every(({ tab, outcome }) => tab.hasCrashed && outcome === undefined)
  }

  /** A tab that has it could not read on the disk that its user has signed out, nor hear of it. */
  #mayNotKnowOfSignOut({ wasRefused, tab: { awakeSince, device } }: Write): boolean {
    const { signedOutAt = Number.NEGATIVE_INFINITY, plan } = device
    const canRead = !wasRefused && device.openTabs.every(({ hasNoDisk }) => !hasNoDisk)
    return !canRead && (plan.channel !== 'fine' || awakeSince > signedOutAt)
  }

  /** The user of `write` has signed out, and keeps nothing. */
  ended(write: Write): void {
    write.isForgotten = true
    write.overSince ??= this.#now()
  }

  answered(results: readonly Result[]): void {
    const { history } = this.log
    for (const { id, sid, error } of results) {
      if (error?.code === 'conflict') this.#checkConflict(id)
      if (sid === undefined) history.refused.add(id)
      else if (!history.accepted.has(id)) {
        history.accepted.set(id, sid)
        const write = this.#byId.get(id)
        write?.befores.push(history.rows.get(write.id))
      }
    }
  }

  /** A write of this kind is refused for somebody else's change only. */
  #checkConflict(id: string): void {
    const { histories, history } = this.log
    const write = this.#byId.get(id)
    if (!write || histories.length > 1) return
    const { name, tab, sid } = write
    const isOther = (tx: string | undefined) => this.writeOf(tx)?.tab !== tab
    if (!history.changesOf(write.id, sid).some(isOther))
      this.fault(`a write was refused for a change that nobody else made: ${name}`)
  }

  /**
   * What a tab writes is accepted in the order in which it was written; what the tabs of a device write, in the order in
   * which it was stored, unless the user cleared the disk: each tab stores its own again. One that the disk refused keeps its
   * place after what its tab had heard of.
   */
  #checkOrder({ name, tab, at, transaction, told, committed }: Write): void {
    if (this.log.histories.length > 1) return
    const { clearedAt = Number.NEGATIVE_INFINITY } = tab.device
    // A tab that was killed tells nobody.
    const storedAt = tab.hasCrashed ? committed : told.stored
    const stored = (at > clearedAt ? storedAt : undefined) ?? Number.POSITIVE_INFINITY
    const later = this.writes.slice(this.writes.findIndex((one) => one.transaction === transaction) + 1)
    const isLater = (one: Write) =>
      one.tab === tab ||
      (one.tab.device === tab.device && !one.wasRefused && one.told.stored !== undefined && one.at > stored)
    const first = later.find((one) => isLater(one) && this.log.history.order.includes(one.transaction.id))
    if (first) this.fault(`a write was accepted after a later one: ${name} after ${first.name}`)
  }

  /** What a tab writes, the leader hears at once. */
  #checkSoon({ name, tab, at, wasRefused }: Write): void {
    const { device } = tab
    const { reachableSince = Number.POSITIVE_INFINITY, storeFineSince = Number.POSITIVE_INFINITY } = device
    const isHeard = this.#isCalm && this.#plan.channel === 'fine' && !this.#hasDiskMoment && !wasRefused
    if (!isHeard || tab.hasCrashed || device.openTabs.some(({ hasNoDisk }) => hasNoDisk)) return
    const changes = device.openTabs.map(({ openedAt, awakeSince }) => Math.max(openedAt, awakeSince))
    const ms = this.#now() - Math.max(at, reachableSince, storeFineSince, ...changes)
    if (ms > soonMs) this.fault(`a write was sent late: ${name}, after ${ms} ms`)
  }

  /** The server has changed records. */
  committed(changes: readonly Change[]): void {
    for (const change of changes) {
      this.changes.push({ ...change, at: this.#now() })
      const write = this.writeOf(change.tx)
      if (write) {
        this.#checkOrder(write)
        this.#checkSoon(write)
        this.log.history.order.push(write.transaction.id)
        if (write.told.end === 'failed' && !wasUnknown(write))
          this.fault(`a write that had failed happened: ${write.name}`)
        const isReplaced = write.kind === 'put' || (this.#plan.bare && write.kind === 'delete')
        const isSame = isReplaced && write.history === change.history
        const older = isSame ? [write.confirmed, ...this.log.history.between(write.sid, change)] : []
        write.befores.push(...(write.kind === 'put' ? older.slice(1) : older), change.before)
        this.#checkOwn(write, change)
      } else if (change.tx !== undefined) {
        for (const fault of faultsOfReplay(this, change)) this.fault(fault)
      }
    }
  }

  /** Looks at what a tab shows. */
  check(tab: Tab): void {
    const { history, last, client } = tab
    tab.checkMirror()
    const sid = client.lastSyncId
    const isSame = history === last.history && !tab.hadSnapshot
    if (isSame && sid < last.sid)
      this.fault(`the position of a tab goes back: ${tab.name}, ${last.sid} to ${sid}`)
    if (sid !== last.sid || history !== last.history) tab.movedAt = this.#now()
    tab.last = { history, sid }
    tab.hadSnapshot = false
    this.#noteSeen(tab, isSame ? last.sid : Number.POSITIVE_INFINITY)
    const { synced } = tab.device
    if (
      synced &&
      synced.at < tab.openedAt &&
      synced.history === history &&
      sid < synced.sid &&
      !this.#isEarly
    )
      this.fault(`what was synced was not stored: ${tab.name} is at ${sid}, not at ${synced.sid}`)
    const foreign = client
      .all('Note')
      .find(({ userId }) => userId !== undefined && userId !== tab.device.identity)
    // Whose database it is, a tab knows once it has read that.
    if (foreign && client.status.storage.kind === 'durable')
      this.fault(`a record of another user is shown: ${foreign.id} in ${tab.name}`)
    this.#checkProgress(tab)
    // A tab that hears no others looks when it comes to the front.
    if (this.#isCalm && this.#hasDiskMoment && this.#plan.channel !== 'none') this.#checkKilled(tab)
    const { signedOutAt = Number.NEGATIVE_INFINITY, life, unreachableSince = this.#now() } = tab.device
    if (history === undefined) return
    if (tab.life === life && unreachableSince <= signedOutAt)
      this.fault(`what was there before the user signed out is shown: ${tab.name}`)
    for (const id of ids) {
      if (this.#mayBeOvertaken(tab, id) || this.mayHideRemoval(id) || this.#mayKnowRemoval(tab, id)) continue
      if (this.#mayHaveMissed(tab)) continue
      const shown = textOf(tab.row(id))
      const rows = this.#rows(tab, id, (act) => this.#presence(act, tab))
      if (!rows || rows.length > maxRows || rows.some((row) => textOf(row) === shown)) continue
      this.fault(
        `${this.#diagnosis(tab, id, shown)}; ${tab.name} at ${history}/${sid} shows ${id} as ${shown}, not as ${rows.map(textOf).join(' or ')}`,
      )
    }
  }

  /** Whether the server does not say that the record was removed: its deltas have whole rows only. */
  mayHideRemoval(id: string): boolean {
    return this.#plan.bare?.deltas === 'rows' && this.log.history.removals.some((one) => one.id === id)
  }

  /** Whether a refusal may have told the tab of a removal that its data does not have yet. */
  #mayKnowRemoval(tab: Tab, id: string): boolean {
    const { removals, rows } = this.log.history
    const isLater = removals.some((one) => one.id === id && one.sid > tab.client.lastSyncId)
    return this.#plan.bare?.pushes === 'rows' && isLater && !rows.get(id) && !tab.row(id)
  }

  /** Whether a message between tabs may be lost just now, and the next one does not say what it continues. */
  #mayHaveMissed({ movedAt }: Tab): boolean {
    const { channel, dialect, bare } = this.#plan
    const isBlind = dialect !== undefined || bare?.since === false
    return channel === 'faulty' && isBlind && movedAt > this.#now() - unjudgedMs
  }

  /** What the user of a tab that runs writes is stored, and sent, whatever other tabs do. */
  #checkProgress(tab: Tab): void {
    const { storeFineSince = Number.POSITIVE_INFINITY, reachableSince = Number.POSITIVE_INFINITY } =
      tab.device
    const isAnyStill = tab.device.openTabs.some(({ isStill }) => isStill)
    for (const { name, tab: one, at, told, isUndone, transaction, overSince } of this.writes) {
      // A tab that hears no others cannot ask them for room, and one that stands still makes none.
      const canAsk = !tab.device.disk.isTight || (this.#plan.channel !== 'none' && !isAnyStill)
      if (one !== tab || isUndone || told.end !== undefined || overSince !== undefined) continue
      const ms = this.#now() - Math.max(storeFineSince, tab.awakeSince, at)
      if (told.durable === undefined && ms > promptMs && !tab.hasNoDisk && canAsk)
        this.fault(`a write is not stored though the store takes writes: ${name}`)
      const isSent = this.log.histories.some(
        ({ accepted, refused }) => accepted.has(transaction.id) || refused.has(transaction.id),
      )
      if (!isSent && this.#isCalm && Math.min(ms, this.#now() - reachableSince) > promptMs)
        this.fault(`a write is not sent though the network is fine: ${name}`)
    }
  }

  /** What a killed tab has stored is sent by a tab that runs and has a disk, though nobody told that tab of it. */
  #checkKilled(tab: Tab): void {
    const { device, hasNoDisk } = tab
    if (hasNoDisk) return
    const { storeFineSince = Number.POSITIVE_INFINITY, reachableSince = Number.POSITIVE_INFINITY } = device
    const { diskFineSince = storeFineSince + laterMs } = tab
    const since = Math.max(tab.openedAt, tab.awakeSince, storeFineSince, diskFineSince, reachableSince)
    for (const write of this.writes) {
      const { name, committed = Number.POSITIVE_INFINITY, transaction, isUndone, isForgotten, told } = write
      if (write.tab.device !== device || !write.tab.hasCrashed || isUndone || isForgotten) continue
      // One whose requirement was refused has ended, and is never sent.
      if (told.end !== undefined) continue
      const isKnown = this.log.histories.some(
        ({ accepted, refused }) => accepted.has(transaction.id) || refused.has(transaction.id),
      )
      if (!isKnown && this.#now() - Math.max(since, committed) > leftMs)
        this.fault(`what a killed tab had stored is not sent: ${name}, by ${tab.name}`)
    }
  }

  #mayBeOvertaken({ device, movedAt }: Tab, id: string): boolean {
    const since = this.#now() - unjudgedMs
    return this.acts.some(
      ({ does, write, tab, at }) =>
        does !== 'write' && write.id === id && tab.device === device && Math.max(at, movedAt) > since,
    )
  }

  /** Notes what `tab` has seen of writes, and which of them nobody may hold any more. */
  #noteSeen(tab: Tab, sid: number): void {
    const now = this.#now()
    const { history, device } = tab
    for (const write of this.writes) {
      if (write.tab.device !== device) continue
      const accepted = this.#acceptedIn(write, history)
      const isNamed = (this.#namesTx && this.#hasFrame(write, history)) || this.#hearsOfEnd(tab, write)
      const isHere = isNamed && accepted !== undefined && accepted <= tab.last.sid
      const isTold = write.tab === tab && write.told.synced !== undefined
      if (!tab.crossed.has(write) && isHere && (accepted > sid || isTold)) tab.crossed.set(write, now)
      if (isHere || isTold) write.seenAt ??= now
      const since = tab.crossed.get(write) ?? Number.POSITIVE_INFINITY
      const { storeFineSince = Number.POSITIVE_INFINITY } = device
      const isStored =
        now - (storeFineSince > since ? storeFineSince + goneAfterTroubleMs : since + goneMs) >= 0
      if (
        isStored &&
        device.openTabs.every((one) => this.#hasSeen(one, write) && !this.#isCovered(write, one))
      )
        write.isGone ||= !wasClearedTooSoon(write)
    }
  }

  /**
   * A snapshot does not tell the tab that made a write whether it is in the data, and no tab that has read the write on the
   * disk and hears no others.
   */
  #hasSeen(tab: Tab, write: Write): boolean {
    if (tab.crossed.has(write)) return true
    const { history, sid } = tab.last
    const { seenAt = Number.POSITIVE_INFINITY } = write
    const hears = this.#plan.channel !== 'none' || tab.openedAt >= seenAt + goneMs
    if (write.tab === tab || !hears) return false
    if (!this.#hasFrame(write, history) && !this.#hearsOfEnd(tab, write)) return false
    return (this.#acceptedIn(write, history) ?? Number.POSITIVE_INFINITY) <= sid
  }

  /** Whether it has changed something in `history`. If not, no frame says that the server has accepted it. */
  #hasFrame({ transaction }: Write, history: number | undefined): boolean {
    return this.log.histories[history ?? -1]?.order.includes(transaction.id) === true
  }

  /** Whether its user was told that it is in the data, in `tab` or in another one from which `tab` hears. */
  #hearsOfEnd(tab: Tab, { told, tab: own }: Write): boolean {
    return told.synced !== undefined && (own === tab || this.#plan.channel !== 'none')
  }

  /**
   * Whether `tab` may show it over newer data, because it does not know yet what became of an earlier write to the same
   * record: the earlier one would hide what the server has made of it.
   */
  #isCovered(write: Write, tab: Tab): boolean {
    const now = this.#now()
    const { reachableSince = now } = tab.device
    if (now - Math.max(reachableSince, tab.openedAt, tab.awakeSince) >= promptMs) return false
    const index = this.writes.indexOf(write)
    return this.writes.some((one, at) => {
      const isOnSame = one !== write && one.id === write.id && one.tab.device === tab.device
      const isEarlier =
        at < index || one.wasRefused || (one.told.durable ?? now) < (write.told.durable ?? now)
      return isOnSame && isEarlier && !this.#knowsFate(tab, one)
    })
  }

  /** Whether `tab` knows what the server has made of the write. */
  #knowsFate(tab: Tab, write: Write): boolean {
    const { told, tab: own, isForgotten } = write
    const { end, endAt = Number.POSITIVE_INFINITY } = told
    if (isForgotten || (this.#namesTx && this.#hasSeen(tab, write))) return true
    if (own === tab) return end !== undefined
    const hears = this.#plan.channel !== 'none' || tab.openedAt >= endAt + goneMs
    return hears && this.#now() - endAt >= goneMs
  }

  #acceptedIn({ transaction }: Write, history: number | undefined): number | undefined {
    return history === undefined ? undefined : this.log.histories[history]?.accepted.get(transaction.id)
  }

  #presence(act: Act, tab: Tab): Presence {
    const { write } = act
    if (write.tab.device !== tab.device) return 'no'
    if (act.does === 'redo') return 'maybe'
    const { history } = tab
    const isOwn = act.tab === tab
    if (act.does === 'undo') return isOwn && act.isCertain && history === write.history ? 'yes' : 'maybe'
    const accepted = this.#acceptedIn(write, history)
    if (accepted !== undefined && accepted <= tab.last.sid)
      return this.#isKnown(write, tab) && !this.#isCovered(write, tab) ? 'no' : 'maybe'
    if (write.overSince !== undefined && write.tab.life < tab.life) return 'no'
    const { end } = write.told
    if (isOwn && end !== undefined) return 'no'
    if (write.isGone && accepted === undefined) return 'no'
    const isRefused = this.log.histories.some(({ refused }) => refused.has(write.transaction.id))
    const isSure = isOwn && !write.isUndone && !isRefused && history === write.history
    return isSure && !this.#hasRefusedBelow(write) ? 'yes' : 'maybe'
  }

  /** What adds its record was refused: then so is it. */
  #hasRefusedBelow(write: Write): boolean {
    const { refused } = this.log.history
    return this.writes.some((one) => one.id === write.id && one !== write && refused.has(one.transaction.id))
  }

  /** Whether `tab` cannot but know that the data holds the write. */
  #isKnown(write: Write, tab: Tab): boolean {
    if (write.isGone) return true
    const since = tab.crossed.get(write)
    if (since === undefined) return false
    const isTold = write.tab === tab && write.told.synced !== undefined
    return isTold || this.#now() - since >= graceMs
  }

  /**
   * All that `id` may be in `tab`: the server's row at the tab's position, and what may be laid over it. `undefined`: too much
   * to say.
   */
  #rows(tab: Tab, id: string, presenceOf: (act: Act) => Presence): readonly Row[] | undefined {
    const { history, sid } = tab.last
    const log = history === undefined ? undefined : this.log.histories[history]
    // Of a first snapshot, a part is shown before its position counts.
    const isEarly = this.#isEarly || sid === 0
    const begin = distinct([log?.at(sid, id), ...(isEarly ? (log?.after(sid, id) ?? []) : [])])
    const presences = new Map(
      this.acts.filter(({ write }) => write.id === id).map((act) => [act, presenceOf(act)]),
    )
    const all = [...presences.keys()]
    const isHere = (act: Act) => presences.get(act) !== 'no'
    const refused = all.filter((act) => act.does === 'write' && act.write.wasRefused && isHere(act))
    // Of what is over, only the places after it count.
    const acts = all.filter((act) => isHere(act) || refused.some(({ tab: own }) => own === act.tab))
    // What a disk took late comes behind what another tab stored meanwhile.
    const stored = acts.toSorted(
      (one, other) => storedAt(one) - storedAt(other) || placeOf(one) - placeOf(other),
    )
    // What its user cleared from the disk, each tab stores again.
    const isCleared = tab.device.clearedAt !== undefined
    const again = isCleared ? [acts.toSorted((one, other) => committedAt(one) - committedAt(other))] : []
    const orders = [acts, stored, ...again].flatMap((order) => placesOf(order, refused))
    if (orders.length > maxOrders) return undefined
    return distinct(orders.flatMap((order) => rowsOver(begin, order, presences)))
  }

  /** Which acts explain what is shown, if they were there, or were not. */
  #diagnosis(tab: Tab, id: string, shown: string): string {
    const own = this.acts.filter(({ write }) => write.id === id)
    const isUndo = ({ does }: Act) => does !== 'write'
    const explains = (others: readonly Act[], presence: Presence, undoes = true) =>
      this.#rows(tab, id, (act) => {
        if (!undoes && isUndo(act)) return 'no'
        return others.includes(act) ? presence : this.#presence(act, tab)
      })?.some((row) => textOf(row) === shown)
    const ended = own.filter((act) => this.#presence(act, tab) === 'no')
    const back = ended.find((act) => explains([act], 'yes', false))
    const isRedone = own.some(({ does, write }) => does === 'redo' && write === back?.write)
    if (own.some(isUndo) && (isRedone || !explains(ended, 'maybe', false)))
      return `an undo or redo is laid over what was written since: ${id}`
    if (back || explains(ended, 'maybe')) {
      const { write } = back ??
        ended.find((act) => explains(without(ended, act), 'maybe') === false) ?? { write: ended[0]?.write }
      if (!write) return ''
      const accepted = this.#acceptedIn(write, tab.last.history)
      if (accepted !== undefined && accepted <= tab.last.sid) return `a synced write came back: ${write.name}`
      if (write.isGone) return `a write seen before the restore came back: ${write.name}`
      return `a ${write.told.end} write is shown: ${write.name}`
    }
    const gone = own.find((act) => this.#presence(act, tab) === 'yes' && explains([act], 'no'))
    if (gone?.does === 'undo') return `an undone write is shown again: ${gone.write.name}`
    if (gone) return `a write is not shown though the data does not have it yet: ${gone.write.name}`
    return `something is shown that nobody wrote like that: ${id}`
  }

  /** A transaction carries what its user wrote. */
  #checkOwn({ name, kind, fields }: Write, { before, after }: Change): void {
    const isRight =
      kind === 'delete'
        ? after === undefined
        : textOf(after) === textOf(kind === 'update' ? { ...before, ...fields } : fields)
    if (!isRight)
      this.fault(
        `a write does something else than its user did: ${name} made ${textOf(after)} of ${textOf(before)}`,
      )
  }
}

/** All that a record may be after `acts`, in this order, over one of `begin`. */
function rowsOver(
  begin: readonly Row[],
  acts: readonly Act[],
  presences: ReadonlyMap<Act, Presence>,
): readonly Row[] {
  let rows = begin
  for (const act of acts) {
    const presence = presences.get(act)
    if (presence === 'no') continue
    const results = rows.flatMap((row) => resultsOf(act, row))
    rows = distinct(presence === 'yes' ? results : [...rows, ...results])
    if (rows.length > maxRows) return rows
  }
  return rows
}

/** When an act got its place in the order of its device. */
function storedAt({ does, write, at }: Act): number {
  return does === 'write' ? (write.told.durable ?? Number.POSITIVE_INFINITY) : at
}

/** Orders what was stored at the same time. */
function placeOf({ does, write }: Act): number {
  return does === 'write' ? write.place : Number.NaN
}

/** When the disk has taken it last. */
function committedAt({ does, write, at }: Act): number {
  return does === 'write' ? (write.committed ?? Number.POSITIVE_INFINITY) : at
}

/**
 * `acts`, with each write that the disk `refused` in each place that it may have: after all of its own tab, and before any of
 * what other tabs did, of which its tab may not have heard by then.
 */
function placesOf(acts: readonly Act[], refused: readonly Act[]): readonly (readonly Act[])[] {
  const numbers = new Map(acts.map((act, number) => [act, number]))
  const nameOf = (order: readonly Act[]) => order.map((act) => numbers.get(act)).join()
  return refused.reduce<readonly (readonly Act[])[]>(
    (orders, act) => {
      if (orders.length > maxOrders) return orders
      const more = orders.flatMap((order) => earlier(order, act))
      return [...new Map(more.map((order) => [nameOf(order), order])).values()]
    },
    [acts],
  )
}

function earlier(acts: readonly Act[], act: Act): readonly (readonly Act[])[] {
  const index = acts.indexOf(act)
  const from = acts.findLastIndex(({ tab }, at) => at < index && tab === act.tab) + 1
  const others = without(acts, act)
  return Array.from({ length: index - from + 1 }, (_, place) => others.toSpliced(index - place, 0, act))
}

function without(acts: readonly Act[], one: Act): readonly Act[] {
  return acts.filter((act) => act !== one)
}

function distinct(rows: readonly Row[]): readonly Row[] {
  return [...new Map(rows.map((row) => [textOf(row), row])).values()]
}

/**
 * Its disk did not say whether it had stored the write, and the tab crashed before the write was taken back there, or the disk
 * did not take that either.
 */
function wasUnknown({ transaction, tab, isUndone, wasRefused }: Write): boolean {
  return (transaction.rejection?.reason === 'timeout' && tab.hasCrashed) || (isUndone && wasRefused)
}

/** The user cleared the disk before a tab that had missed messages could read there that the write is in the data. */
function wasClearedTooSoon({ at, seenAt = at, tab: { device } }: Write): boolean {
  const { clearedAt = Number.NEGATIVE_INFINITY, plan } = device
  return plan.channel === 'faulty' && at <= clearedAt && clearedAt < seenAt + goneMs
}
