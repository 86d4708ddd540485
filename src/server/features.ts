/** The extensions of the requests that the service supports, for hello and the response to transactions. */
export const features = ['was', 'restores'] as const
