/** The extensions of requests and frames that the service supports, for hello and the response to transactions. */
export const features = ['was', 'restores', 'tx'] as const
