import { also } from './also.ts'
import type { Mutation } from './mutation.ts'
import { network } from './network.ts'
import { position } from './position.ts'
import { service } from './service.ts'
import { storage } from './storage.ts'

/** All changes, in the order of the invariants that they break. */
export const mutations: readonly Mutation[] = [...position, ...service, ...storage, ...network, ...also].sort(
  (a, b) => a.invariant - b.invariant,
)
