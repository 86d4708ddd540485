import type { DatabaseSize, Restored, RestoreSink } from './database.ts'
import type { FencedConnection } from './fence.ts'
import { metaKeys, readHead, readManifest, sizeOf } from './format.ts'
import { readJournal } from './journal.ts'
import { readPage } from './pages.ts'
import { readRepair } from './repair.ts'

interface Read {
  readonly restored: Restored
  readonly size: DatabaseSize
  /** Where what of the journal cannot be used begins. */
  readonly brokenAt: string | undefined
}

/** So many pages are asked for at once, so that the engine works ahead: to ask for hundreds is a long task by itself. */
const pagesAhead = 16

/**
 * Reads pages and journal in one transaction. `sinkFor` gives what takes data of the models' shape `version`; where it
 * gives none, that is as if there were no data.
 */
export function readStored(
  database: FencedConnection,
  sinkFor: (version: number) => RestoreSink | undefined,
): Promise<Read | undefined> {
  return database.read(['pages', 'journal'], async (tx) => {
    const [stored, list, { owed, at: repairedAt, unknown }] = await Promise.all([
      tx.get('meta', metaKeys.head),
      tx.get('meta', metaKeys.manifest),
      readRepair(tx),
    ])
    const head = readHead(stored)
    const sink = head && sinkFor(head.version)
    if (!sink) return undefined
    const { holds = () => true } = sink
    const manifest = readManifest(list)
    const wanted = manifest.filter(({ types }) => types.some(([t]) => holds(t))).values()
    // Each is parsed in the turn in which it comes. They come in the order in which they were asked for.
    const readOn = async () => {
      for (const { key } of wanted) sink.rows(readPage(await tx.get('pages', key)))
    }
    await Promise.all(Array.from({ length: pagesAhead }, readOn))
    if (unknown.length > 0) (sink.unknown ?? sink.ops)(unknown)
    const { sid, at, size, brokenAt } = await readJournal(tx, head, (ops) => sink.ops(ops))
    return {
      restored: { sid, epoch: head.epoch, at, repair: { owed, at: repairedAt } },
      size: { pageUnits: sizeOf(manifest), journalUnits: size },
      brokenAt,
    }
  })
}
