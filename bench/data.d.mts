import type { Row } from './contenders/contender.ts'

export const types: readonly string[]
export function rowOf(n: number): Row
export function snapshotOf(count: number): string
