/** The channel of notifications: the processes that share a database say there what they have written. */
export const channel = 'instep'

/** The payload of a notification of a trigger: rows of an attached table have changed. */
export const changedNotice = 'change'

/** The reasons for a notification: another process wrote to the log, or rows of an attached table changed. */
export type Notice = 'written' | 'changed'
