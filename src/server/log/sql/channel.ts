/** The channel of notifications: the processes that share a database say there what they have written. */
export const channel = 'instep'

/** The payload of a notification of a trigger: rows of an attached table have changed. */
export const changedNotice = 'change'

/** What a notification may mean: another process has written to the log, or rows of an attached table have changed. */
export type Notice = 'written' | 'changed'
