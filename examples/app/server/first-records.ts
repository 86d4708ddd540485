import type { TxOp } from 'instep/server'

export function membership(team: string, userId: string, role = 'member'): TxOp {
  const p = { owner: `user:${userId}`, team, role }
  return { op: 'i', t: 'Membership', id: `${team}/${userId}`, p, put: true }
}

const issue = (id: string, team: string, author: string, title: string, hours: number): TxOp => {
  const p = { owner: `team:${team}`, title, hours, status: 'open', author, createdAt: 0 }
  return { op: 'i', t: 'Issue', id, p }
}

const note = (user: string, text: string): TxOp => {
  return { op: 'i', t: 'Note', id: `note-${user}`, p: { owner: `user:${user}`, text } }
}

/** The records of a new database. */
export const firstRecords = [
  membership('red', 'ada', 'admin'),
  membership('blue', 'ada'),
  membership('blue', 'ben'),
  note('ada', 'Only Ada sees this.'),
  note('ben', 'Only Ben sees this.'),
  issue('cable', 'red', 'ada', 'Mend the cable', 5),
  issue('boats', 'blue', 'ben', 'Count the boats', 2),
  issue('ferry', 'blue', 'ada', 'Paint the ferry', 40),
]
