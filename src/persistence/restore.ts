import type { Connection } from './connection.ts'
import { metaKeys, readHead, readManifest, sizeOf } from './format.ts'
import { readJournal } from './journal.ts'
import { readPage } from './pages.ts'
import { readRepair } from './repair.ts'
import type { DataSize, Restored, RestoreSink } from './stored-data.ts'

interface Read {
  readonly restored: Restored
  readonly size: DataSize
  /** The key of the first journal record that cannot be used. */
  readonly brokenAt: string | undefined
}

/**
 * The number of pages requested at a time, so that the browser reads ahead. To request hundreds at once would block the
 * thread.
 */
const pagesAhead = 16

/**
 * Reads pages and journal in one transaction. `sinkFor` returns the sink for data of models version `version`. If it
 * returns `undefined`, the result is the same as without data.
 */
export function readStored(
  database: Connection,
  sinkFor: (version: number) => RestoreSink | undefined,
): Promise<Read | undefined> {
  return database.read(['pages', 'journal'], async (tx) => {
    const [stored, list, repair] = await Promise.all([
      tx.get('meta', metaKeys.head),
      tx.get('meta', metaKeys.manifest),
      readRepair(tx),
    ])
    const head = readHead(stored)
    const sink = head && sinkFor(head.version)
    if (!sink) return undefined
    sink.begin?.()
    const { holds = () => true } = sink
    const manifest = readManifest(list)
    const wanted = manifest.filter(({ types }) => types.some(([t]) => holds(t))).values()
    // Each page is parsed in the turn in which it arrives. Pages arrive in the order of the requests.
    const readPages = async () => {
      for (const { key } of wanted) sink.rows(readPage(await tx.get('pages', key)))
    }
    await Promise.all(Array.from({ length: pagesAhead }, readPages))
    const { sid, at, size, brokenAt } = await readJournal(tx, head, (ops) => sink.ops(ops))
    return {
      restored: { sid, epoch: head.epoch, copy: head.copy, at, repair },
      size: { pageUnits: sizeOf(manifest), journalUnits: size },
      brokenAt,
    }
  })
}
