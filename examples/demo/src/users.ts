/** The users that the server knows. */
export const users = ['ada', 'ben', 'cleo']

export function nameOf(user: string): string {
  return user.replace(/^./, (letter) => letter.toUpperCase())
}
