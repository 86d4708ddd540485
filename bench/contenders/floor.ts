import type { Contender } from './contender.ts'

/** The floor of every ratio: the snapshot fetched and parsed, and nothing kept. */
export const contender: Pick<Contender, 'firstSync'> = {
  async firstSync(url) {
    const response = await fetch(`${url}/bootstrap`)
    Object.assign(globalThis, { kept: await response.json() })
  },
}
