// A route handler of Next's is a function of the web's Request, as the service is. Next takes no route that ends in .mjs.
import { syncService } from '../../../../sync.mjs'

const answer = (request) => syncService().fetch(request)

export const GET = answer
export const POST = answer
export const OPTIONS = answer
