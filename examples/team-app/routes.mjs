// The REST routes of the application: plain SQL, as they would be without Instep. Their changes reach all pages.
import { Hono } from 'hono'

/** `query`: runs a statement. `userOf`: resolves with the id of the user who sends a request. */
export function createRoutes({ query, userOf }) {
  const routes = new Hono()

  routes.use(async (c, next) => {
    const userId = await userOf(c.req.raw)
    if (!userId) return c.text('Please sign in.', 401)
    c.set('userId', userId)
    await next()
  })

  routes.post('/projects/:project/issues', async (c) => {
    const { title } = await c.req.json()
    const [issue] = await query(
      `insert into issues (team_id, project_id, title, author_id)
       select p.team_id, p.id, $3, m.user_id from projects p join memberships m using (team_id)
       where p.id = $1 and m.user_id = $2
       returning id, number`,
      [c.req.param('project'), c.get('userId'), title],
    )
    return issue ? c.json(issue, 201) : c.text('There is no such project.', 404)
  })

  // One statement, however many issues there are.
  routes.post('/projects/:project/close', async (c) => {
    const closed = await query(
      `update issues i set status = 'closed' from memberships m
       where i.project_id = $1 and i.status = 'open' and m.team_id = i.team_id and m.user_id = $2
       returning i.id`,
      [c.req.param('project'), c.get('userId')],
    )
    return c.json({ closed: closed.length })
  })

  // The row stays, and can come back.
  for (const [path, deletedAt] of [
    ['delete', 'now()'],
    ['restore', 'null'],
  ]) {
    routes.post(`/issues/:issue/${path}`, async (c) => {
      const found = await query(
        `update issues i set deleted_at = ${deletedAt} from memberships m
         where i.id = $1 and m.team_id = i.team_id and m.user_id = $2 returning i.id`,
        [c.req.param('issue'), c.get('userId')],
      )
      return found.length > 0 ? c.json(found[0]) : c.text('There is no such issue.', 404)
    })
  }

  routes.get('/report', async (c) => {
    const report = await query(
      `select t.name as team, i.status, count(*)::int as issues
       from memberships m join teams t on t.id = m.team_id join issues i using (team_id)
       where m.user_id = $1 and i.deleted_at is null group by 1, 2 order by 1, 2`,
      [c.get('userId')],
    )
    return c.json(report)
  })

  return routes
}
