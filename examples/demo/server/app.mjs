import { Hono } from 'hono'

const users = ['ada', 'ben', 'cleo']
const maxRows = 10_000

/** The routes of the demo: the service, a token for each user, changes on demand, and the page. */
export function createApp({ atlas, page }) {
  const app = new Hono()

  app.all(`${atlas.service.path}/*`, (c) => atlas.service.fetch(c.req.raw))

  // In an application, a user signs in here.
  app.get('/token', async (c) => {
    const user = c.req.query('user')
    if (!users.includes(user)) return c.text(`There is no such user; there are ${users.join(' and ')}.`, 404)
    return c.text(await atlas.tokenFor(user), 200, { 'Cache-Control': 'no-store' })
  })

  app.post('/change', async (c) => {
    const { rows } = await c.req.json().catch(() => ({}))
    if (!Number.isInteger(rows) || rows < 1 || rows > maxRows) {
      return c.json({ error: `\`rows\` is to be a whole number from 1 to ${maxRows}.` }, 400)
    }
    const { sid } = await atlas.change(rows)
    return c.json({ rows, sid })
  })

  app.get('*', (c) => {
    const file = page.get(c.req.path)
    if (!file) return c.text('There is nothing here.', 404)
    // File names contain a hash of the content, except for the page itself.
    const caching = c.req.path === '/' ? 'no-cache' : 'public, max-age=31536000, immutable'
    return c.body(file.body, 200, { 'Content-Type': file.type, 'Cache-Control': caching })
  })

  return app
}
