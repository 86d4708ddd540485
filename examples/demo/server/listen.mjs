import { serve } from 'instep/server'

const portsTried = 20

/**
 * Serves `app` and the sockets of `service` on `port`. Without `port`, uses the first free port from `defaultPort` on.
 */
export async function listen({ app, service, port, defaultPort }) {
  const served = { ...service, fetch: (request) => app.fetch(request) }
  if (port !== undefined) return serve(served, { port })
  for (let next = defaultPort; ; next += 1) {
    try {
      return await serve(served, { port: next })
    } catch (error) {
      if (error.code !== 'EADDRINUSE' || next >= defaultPort + portsTried) throw error
    }
  }
}
