import type { Clock } from '../base/environment.ts'
import type { Connection } from './connection.ts'
import {
  type Head,
  type Manifest,
  metaKeys,
  type PageEntry,
  readHead,
  readManifest,
  sizeOf,
} from './format.ts'
import type { Generations, PageWriter } from './generations.ts'
import { type Journal, readJournal } from './journal.ts'
import { JournalFold } from './journal-fold.ts'
import { pagesOf, readPage } from './pages.ts'
import { readRepair, writeRepair } from './repair.ts'
import type { DataSize } from './stored-data.ts'

export interface CheckpointContext {
  readonly database: Connection
  readonly generations: Generations
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
}

/** The size of the pages after the checkpoint, and of the records removed from the journal. */
export type Checkpointed = DataSize

/** The state at the beginning of a checkpoint: the data to fold, and the head to compare with at the end. */
interface Start {
  readonly head: Head
  readonly manifest: Manifest
  readonly fold: JournalFold
  readonly journal: Journal
}

/**
 * Folds the journal, up to its current end, into new pages, and then switches from the current pages to these. Resolves
 * with `undefined` if there is nothing to fold or if the checkpoint gives up: because its signal aborts, or because a
 * snapshot has replaced the data that the checkpoint began with.
 */
export async function checkpoint(context: CheckpointContext): Promise<Checkpointed | undefined> {
  const { database, generations } = context
  const start = await begin(database)
  if (!start) return undefined
  const writer = generations.begin()
  try {
    const manifest = await foldPages(context, start, writer)
    if (manifest && (await finish(context, start, writer, manifest))) {
      return { pageUnits: sizeOf(manifest), journalUnits: start.journal.size }
    }
  } finally {
    writer.end()
  }
  await generations.sweep()
  return undefined
}

function begin(database: Connection): Promise<Start | undefined> {
  return database.read(['journal'], async (tx) => {
    const [stored, list] = await Promise.all([
      tx.get('meta', metaKeys.head),
      tx.get('meta', metaKeys.manifest),
    ])
    const head = readHead(stored)
    if (!head) return undefined
    const fold = new JournalFold()
    const journal = await readJournal(tx, head, (ops) => fold.add(ops))
    return journal.size === 0 ? undefined : { head, manifest: readManifest(list), fold, journal }
  })
}

/**
 * Stores the new pages and resolves with the manifest that lists them; with `undefined` if the checkpoint has to give
 * up.
 */
async function foldPages(
  context: CheckpointContext,
  { manifest, fold }: Start,
  writer: PageWriter,
): Promise<Manifest | undefined> {
  const { clock, signal } = context
  const pages: (readonly PageEntry[])[] = []
  for (const entry of [...manifest].reverse()) {
    if (signal?.aborted) return undefined
    const replacement = fold.concerns(entry) ? await foldPage(context, fold, writer, entry) : [entry]
    if (!replacement) return undefined
    pages.unshift(replacement)
  }
  for (const page of pagesOf(fold.rest())) {
    if (signal?.aborted) return undefined
    pages.push(await writer.add(page))
    await clock.pause()
  }
  return pages.flat()
}

/** The pages that replace the page `entry`; `undefined` if a snapshot has removed that page. */
async function foldPage(
  { database, clock }: CheckpointContext,
  fold: JournalFold,
  writer: PageWriter,
  entry: PageEntry,
): Promise<readonly PageEntry[] | undefined> {
  const text = await database.read(['pages'], (tx) => tx.get('pages', entry.key))
  if (text === undefined) return undefined
  const rows = readPage(text)
  const folded = fold.applyTo(rows)
  const entries = folded === rows ? [entry] : await writer.add(...pagesOf(folded))
  await clock.pause()
  return entries
}

/**
 * Switches to the new pages in one transaction. Resolves with `false` if the stored generation is no longer the one
 * that the checkpoint began with.
 */
function finish(
  { database, generations, signal }: CheckpointContext,
  { head: startHead, journal, fold }: Start,
  writer: PageWriter,
  manifest: Manifest,
): Promise<boolean> {
  return database.write(
    ['pages', 'journal'],
    async (tx) => {
      const head = readHead(await tx.get('meta', metaKeys.head))
      if (head?.generation !== startHead.generation || signal?.aborted) return false
      const { sid: base, at, to } = journal
      tx.delete('journal', { to })
      // The journal no longer has the changes to missing records, so a later restore cannot notice them.
      const { owed, at: repairedAt } = await readRepair(tx)
      writeRepair(tx, { owed: owed || fold.owesRepair, at: repairedAt })
      await generations.switchTo(tx, { ...head, generation: writer.id, base, at }, manifest)
      return true
    },
    writer.fence,
  )
}
