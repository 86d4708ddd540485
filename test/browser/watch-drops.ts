/**
 * Watches for an engine that drops all that was stored, and notes why it did, by the database's name. Chromium that was
 * killed while a write was under way may take its own files for corrupt at a later start, though nothing in them is cut
 * off, and says so in a field that only it has. Firefox drops a database of which it fails to read the beginning, be it
 * once; then it is made anew, which is all that tells of it.
 *
 * @param isStored whether there was a database
 */
export function watchForDrops(isStored: boolean): ReadonlyMap<string, string> {
  const drops = new Map<string, string>()
  const { open } = IDBFactory.prototype
  IDBFactory.prototype.open = function (...args) {
    const [name] = args
    const request = open.apply(this, args)
    request.addEventListener('upgradeneeded', (event) => {
      if (Reflect.get(event, 'dataLoss') === 'total')
        drops.set(name, String(Reflect.get(event, 'dataLossMessage')))
      else if (isStored && event.oldVersion === 0)
        drops.set(name, 'it made the database anew, and gave no reason')
    })
    return request
  }
  return drops
}
