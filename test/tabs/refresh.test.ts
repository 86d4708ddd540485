import { expect, test } from 'vitest'
import { browser, rolesOf, type Tab } from './browser.ts'

const statesOf = (...tabs: readonly Tab[]) => tabs.map(({ client }) => client.status.connection.state)

/** Tabs that know only the token that they were opened with and those that they have redeemed or heard of. */
async function refreshing() {
  const tabs = await browser()
  const { server } = tabs
  const redeemed: string[] = []
  /** `ms`: how long it takes the tab to redeem a token. */
  const open = (name: string, ms = 2_000) => {
    const token = server.token('ada')
    return tabs.open({
      token: () => token,
      onUnauthenticated: async () => {
        redeemed.push(name)
        await new Promise<void>((resolve) => server.clock.after(ms, resolve))
        return server.token('ada')
      },
    })
  }
  return { ...tabs, open, redeemed }
}

test('one of three tabs redeems the token, and all say that it is being redeemed', async () => {
  const { server, open, redeemed } = await refreshing()
  const tabs = [await open('first'), await open('second'), await open('third')]
  server.revoke('ada')
  await server.clock.advance(1_000)
  expect(statesOf(...tabs)).toEqual(['refreshing', 'refreshing', 'refreshing'])
  await server.settle()
  expect(statesOf(...tabs)).toEqual(['socket', 'socket', 'socket'])
  expect(redeemed).toEqual(['third'])
  await server.close()
})

test('invariant 71: a refresh token is redeemed once, although another tab takes the lead meanwhile', async () => {
  const { server, open, redeemed } = await refreshing()
  const [first, second] = [await open('first'), await open('second')]
  server.revoke('ada')
  await server.clock.advance(500)
  for (const visible of [false, true]) first.lifecycle.set({ visible })
  await server.clock.advance(1_000)
  expect(rolesOf(first, second)).toEqual(['leader', 'follower'])
  expect(statesOf(first, second)).toEqual(['refreshing', 'refreshing'])
  await server.settle()
  expect(redeemed).toEqual(['second'])
  expect(statesOf(first, second)).toEqual(['socket', 'socket'])
  await server.close()
})

test('a tab that takes the lead later uses the token that another tab has redeemed', async () => {
  const { server, open, front, redeemed } = await refreshing()
  const [first] = [await open('first'), await open('second')]
  server.revoke('ada')
  await server.settle()
  await front(first)
  expect(redeemed).toEqual(['second'])
  expect(statesOf(first)).toEqual(['socket'])
  await server.close()
})

test('a tab redeems the token if the tab that was redeeming it is closed', async () => {
  const { server, open, redeemed } = await refreshing()
  const [first, second] = [await open('first'), await open('second')]
  server.revoke('ada')
  await server.clock.advance(500)
  second.kill()
  await server.clock.advance(5_000)
  expect(redeemed).toEqual(['second', 'first'])
  expect(statesOf(first)).toEqual(['socket'])
  await server.close()
})

test('a tab redeems the token 10 s later if the tab that was redeeming it stands still', async () => {
  const { server, open, redeemed } = await refreshing()
  const [first, second] = [await open('first'), await open('second', 600_000)]
  server.revoke('ada')
  await server.clock.advance(500)
  second.freeze()
  for (const visible of [false, true]) first.lifecycle.set({ visible })
  await server.clock.advance(1_000)
  expect(redeemed).toEqual(['second'])
  await server.clock.advance(14_000)
  expect(redeemed).toEqual(['second', 'first'])
  expect(statesOf(first)).toEqual(['socket'])
  await server.close()
})
