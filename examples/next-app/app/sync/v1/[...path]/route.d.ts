type Route = (request: Request) => Promise<Response>

export const GET: Route
export const POST: Route
export const OPTIONS: Route
