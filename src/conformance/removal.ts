import { toError } from '../base/errors.ts'
import type { Ids } from '../base/ids.ts'
import { isObject } from '../protocol/json.ts'
import { isStorableName } from '../protocol/json-copy.ts'
import type { Made, MadeEntry } from './made.ts'
import { keyOf } from './messages.ts'
import type { Offer } from './offer.ts'
import type { MadeRecord, Removal } from './report.ts'
import type { Wire } from './wire.ts'

/** How many records a transaction removes. */
const perTransaction = 50

/** A transaction whose answer was lost may be carried out after the first removal. */
const rounds = 3

/** The time between two rounds, in ms. */
const pauseMs = 250

/**
 * Removes the records of `made`, and looks for them in a snapshot. `wire` must not have ended. Never rejects.
 */
export async function removeMade(made: Made, wire: Wire, ids: Ids, offer: Offer): Promise<Removal> {
  const { all } = made
  if (all.length === 0) return { made: 0, left: [] }
  let left = all
  let reason: string | undefined
  for (let round = 0; round < rounds && left.length > 0; round += 1) {
    if (round > 0) await wire.pause(pauseMs)
    try {
      const found: MadeEntry[] = []
      for (const of of ['token', 'other-token'] as const) {
        const own = left.filter((record) => record.of === of)
        if (own.length === 0) continue
        // The removal of what is no name is refused, so that it is only worth a try if there is such a record.
        const before = own.every(isNamed) ? undefined : await keysIn(wire, of)
        const removable = own.filter((record) => isNamed(record) || before?.has(textKeyOf(record)))
        reason = (await remove(removable, wire, ids, offer)) ?? reason
        const there = await keysIn(wire, of)
        found.push(...own.filter((record) => there.has(textKeyOf(record))))
      }
      left = found
    } catch (error) {
      reason = toError(error).message
    }
  }
  const named = left.map(({ t, id, of }): MadeRecord => ({ t: String(t), id: String(id), of }))
  return {
    made: all.length,
    left: named,
    ...(named.length > 0 && reason !== undefined ? { reason } : undefined),
  }
}

function isNamed({ t, id }: MadeEntry): boolean {
  return isStorableName(t) && isStorableName(id)
}

/** Sends the removals. Resolves with the reason if the server refuses one. */
async function remove(
  records: readonly MadeEntry[],
  wire: Wire,
  ids: Ids,
  offer: Offer,
): Promise<string | undefined> {
  let reason: string | undefined
  for (let at = 0; at < records.length; at += perTransaction) {
    const part = records.slice(at, at + perTransaction)
    const [first] = part
    if (!first) break
    const ops = part.map(({ t, id }) => ({ op: 'd', t, id }))
    const body = JSON.stringify({ txs: [{ id: ids.next(), since: offer.position, ops }] })
    const { status, json } = await wire.send({ path: '/tx', as: first.of, body })
    const error = status === 200 ? errorIn(json) : `the status is ${status}`
    if (error === undefined) continue
    reason = `A removal was refused: ${error}.`
    // One record that cannot be removed must not keep the others.
    if (part.length > 1) for (const record of part) await remove([record], wire, ids, offer)
  }
  return reason
}

function errorIn(json: unknown): string | undefined {
  const results = isObject(json) && Array.isArray(json.results) ? json.results : []
  const [result] = results
  if (!isObject(result)) return 'there is no result'
  return isObject(result.error) ? String(result.error.code) : undefined
}

/** The key of a record whose type or id may be missing, or of another kind. */
function textKeyOf({ t, id }: { readonly t?: unknown; readonly id?: unknown }): string {
  return keyOf({ t: String(t), id: String(id) })
}

async function keysIn(wire: Wire, as: MadeRecord['of']): Promise<ReadonlySet<string>> {
  const { json } = await wire.send({ path: '/bootstrap', as })
  const rows = isObject(json) && Array.isArray(json.rows) ? json.rows : []
  return new Set(rows.flatMap((row) => (isObject(row) ? [textKeyOf(row)] : [])))
}
