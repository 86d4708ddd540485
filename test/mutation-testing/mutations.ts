import { also } from './also.ts'
import { auth } from './auth.ts'
import { callers } from './callers.ts'
import { comeBack } from './come-back.ts'
import { overHttp } from './interface.ts'
import type { Mutation } from './mutation.ts'
import { network } from './network.ts'
import { owners } from './owners.ts'
import { position } from './position.ts'
import { service } from './service.ts'
import { sql } from './sql.ts'
import { storage } from './storage.ts'
import { tables } from './tables.ts'
import { tabs } from './tabs.ts'
import { transactions } from './transactions.ts'
import { writes } from './writes.ts'

/** All changes, in the order of the invariants that they break. */
export const mutations: readonly Mutation[] = [
  ...position,
  ...service,
  ...transactions,
  ...storage,
  ...network,
  ...also,
  ...auth,
  ...callers,
  ...comeBack,
  ...owners,
  ...sql,
  ...tables,
  ...tabs,
  ...writes,
  ...overHttp,
].sort((a, b) => a.invariant - b.invariant)
