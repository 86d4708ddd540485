import { cruise, type ICruiseResult, type IModule } from 'dependency-cruiser'
import { beforeAll, describe, expect, test } from 'vitest'
import { forbidden, ranks } from './ranks.ts'

interface Import {
  readonly from: string
  readonly to: string
  readonly circular: boolean
}

let imports: readonly Import[] = []

beforeAll(async () => {
  const { output } = await cruise(['src'], {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { extensions: ['.ts', '.tsx'] },
  })
  imports = (output as ICruiseResult).modules.flatMap((module: IModule) =>
    module.dependencies
      .filter(({ resolved }) => resolved.startsWith('src/'))
      .map(({ resolved, circular }) => ({ from: module.source, to: resolved, circular })),
  )
})

const room = (path: string) => path.match(/^src\/([^/]+)\//)?.[1]
const print = ({ from, to }: Import) => `${from} → ${to}`

describe('the house', () => {
  test('is read whole', () => {
    expect(imports.length).toBeGreaterThan(50)
  })

  test('has no room without a rank', () => {
    const rooms = imports
      .flatMap(({ from, to }) => [room(from), room(to)])
      .filter((name) => name !== undefined)
    expect([...new Set(rooms)].filter((name) => !(name in ranks))).toEqual([])
  })

  test('imports only go down', () => {
    const wrong = imports.filter(({ from, to }) => {
      const above = room(from)
      const below = room(to)
      if (above === undefined) return false
      return below === undefined || (above !== below && (ranks[below] ?? 0) >= (ranks[above] ?? 0))
    })
    expect(wrong.map(print)).toEqual([])
  })

  test('has no circles, those of types included', () => {
    expect(imports.filter(({ circular }) => circular).map(print)).toEqual([])
  })

  test('keeps apart what must not meet', () => {
    const wrong = imports.filter(({ from, to }) =>
      forbidden.some(([above, below]) => room(from) === above && room(to) === below),
    )
    expect(wrong.map(print)).toEqual([])
  })
})
