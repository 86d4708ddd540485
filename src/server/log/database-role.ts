/** The role and the settings of the database under which a client's ops on tables of the application run. */
export interface DatabaseRole {
  /** The name of a role that the role of the service is a member of. @default the role of the service */
  readonly role?: string | undefined
  /** Values by name, such as `{ 'app.user_id': '7' }`, for `current_setting` in policies and triggers. */
  readonly settings?: Readonly<Record<string, string>> | undefined
}
