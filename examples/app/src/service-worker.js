// Keeps the files of the page, so that it opens without a network. vite.config.ts fills in both values.
const cacheName = 'page-__VERSION__'
const files = new Set(JSON.parse('__FILES__'))

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(cacheName).then((cache) => cache.addAll([...files])))
})

// A new version waits until no page of the former one is open. Then nobody needs the former files any more.
self.addEventListener('activate', (event) => {
  const deleteOthers = async () => {
    for (const name of await caches.keys()) if (name !== cacheName) await caches.delete(name)
  }
  event.waitUntil(deleteOthers())
})

// All else, such as the sync and the sign-in, goes to the network.
self.addEventListener('fetch', (event) => {
  const { origin, pathname } = new URL(event.request.url)
  if (event.request.method !== 'GET' || origin !== location.origin || !files.has(pathname)) return
  event.respondWith(caches.match(pathname, { cacheName }).then((cached) => cached ?? fetch(event.request)))
})
