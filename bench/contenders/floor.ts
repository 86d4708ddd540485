import type { Contender, Delta } from './contender.ts'

const database = new Promise<IDBDatabase>((resolve, reject) => {
  const request = indexedDB.open('floor', 1)
  request.onupgradeneeded = () => request.result.createObjectStore('journal')
  request.onsuccess = () => resolve(request.result)
  request.onerror = () => reject(request.error)
})

/** The floor of every ratio: the snapshot fetched and parsed, and nothing kept; a delta parsed, and its text stored. */
export const contender: Pick<Contender, 'firstSync' | 'delta'> = {
  async firstSync(url) {
    const response = await fetch(`${url}/bootstrap`)
    Object.assign(globalThis, { kept: await response.json() })
  },
  async delta(text) {
    const db = await database
    const { sid }: Delta = JSON.parse(text)
    await new Promise<void>((resolve, reject) => {
      const tx = db.transaction('journal', 'readwrite', { durability: 'relaxed' })
      tx.oncomplete = () => resolve()
      tx.onabort = () => reject(tx.error)
      // Whoever shares a database looks whether it is still his.
      tx.objectStore('journal').get('fence')
      tx.objectStore('journal').put(text, sid)
    })
  },
}
