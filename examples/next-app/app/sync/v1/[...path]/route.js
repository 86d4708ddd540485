// A route handler of Next takes a web `Request` and returns a `Response`, as `service.fetch` does. Next ignores .mjs
// routes.
import { syncService } from '../../../../sync.mjs'

const answer = (request) => syncService().fetch(request)

export const GET = answer
export const POST = answer
export const OPTIONS = answer
