const maxStars = 5

/** Creates the `authorize` function, which refuses writes by the application's rules. `places`: the initial places. */
export function createRules(places) {
  return ({ ops }) => {
    for (const { op, t, id, p } of ops) {
      if (t !== 'Place') return { message: 'Only places can be changed.' }
      if (op === 'd' && places.has(id))
        return { message: 'Only places that users have added can be deleted.' }
      const rating = p?.rating ?? 0
      if (!(Number.isInteger(rating) && rating >= 0 && rating <= maxStars)) {
        return { code: 'invalid', message: `There are no more than ${maxStars} stars.` }
      }
    }
  }
}
