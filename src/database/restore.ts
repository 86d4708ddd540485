import type { Restored, RestoreSink } from './database.ts'
import type { FencedConnection } from './fence.ts'
import { metaKeys, readHead, readManifest, sizeOf } from './format.ts'
import { readJournal } from './journal.ts'
import { readPage } from './pages.ts'

/** What was restored, and how large it is. */
export interface RestoredState extends Restored {
  readonly pageBytes: number
  readonly journalBytes: number
}

/**
 * Reads pages and journal in one transaction; then, in another, removes what of the journal cannot be used. `sinkFor`
 * gives what takes data of the models' shape `version`; where it gives none, that is as if there were no data.
 */
export async function restore(
  database: FencedConnection,
  sinkFor: (version: number) => RestoreSink | undefined,
): Promise<RestoredState | undefined> {
  const state = await database.read(['pages', 'journal'], async (tx) => {
    const [stored, list] = await Promise.all([
      tx.get('meta', metaKeys.head),
      tx.get('meta', metaKeys.manifest),
    ])
    const head = readHead(stored)
    const sink = head && sinkFor(head.version)
    if (!sink) return undefined
    const manifest = readManifest(list)
    // Side by side, so that the engine works ahead; each is parsed in the turn in which it comes, in order.
    await Promise.all(manifest.map(async ({ key }) => sink.rows(readPage(await tx.get('pages', key)))))
    const journal = await readJournal(tx, head, (ops) => sink.ops(ops))
    return { head, journal, pageBytes: sizeOf(manifest) }
  })
  if (!state) return undefined
  const { head, journal, pageBytes } = state
  const { sid, at, size, brokenAt } = journal
  if (brokenAt !== undefined) {
    await database.write(['journal'], async (tx) => tx.delete('journal', { from: brokenAt }))
  }
  return { sid, epoch: head.epoch, at, cut: brokenAt !== undefined, pageBytes, journalBytes: size }
}
