import { BaseSequencer, type TestSpecification } from 'vitest/node'

const withBrowsers = /\/test\/(browser|demo)\/|\/test\/react\/browser|-page\.test/
const slow = /\/test\/(cli|conformance|docs|examples|interface|package|server-\w+)\/|property\.test/

/**
 * Runs the slow files first, so that none is left when the others are done. Those with browsers are spread among them:
 * several browsers at once slow each other down until their pages time out.
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const browsers = sorted.filter(({ moduleId }) => withBrowsers.test(moduleId))
    const others = sorted.filter(({ moduleId }) => !withBrowsers.test(moduleId))
    const slowOnes = others.filter(({ moduleId }) => slow.test(moduleId))
    const quick = others.filter(({ moduleId }) => !slow.test(moduleId))
    return [...spread(browsers, slowOnes), ...quick]
  }
}

/** Both lists in their order, the items of each as far apart as can be. */
function spread<T>(a: readonly T[], b: readonly T[]): T[] {
  const placed = [a, b].flatMap((list) => list.map((item, n) => ({ item, place: (n + 0.5) / list.length })))
  return placed.sort((one, other) => one.place - other.place).map(({ item }) => item)
}
