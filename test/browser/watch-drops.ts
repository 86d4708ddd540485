/**
 * Watches for an engine that drops all that was stored, and gives a function that tells why it did. Chromium that was
 * killed while a write was under way may take its own files for corrupt at a later start, though nothing in them is cut
 * off, and says so in a field that only it has.
 */
export function watchForDrops(): () => string | undefined {
  let dropped: string | undefined
  const { open } = IDBFactory.prototype
  IDBFactory.prototype.open = function (...args) {
    const request = open.apply(this, args)
    request.addEventListener('upgradeneeded', (event) => {
      if (Reflect.get(event, 'dataLoss') === 'total') dropped = String(Reflect.get(event, 'dataLossMessage'))
    })
    return request
  }
  return () => dropped
}
