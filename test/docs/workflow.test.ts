import { accessSync, constants, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { root } from './documents.ts'

const workflow = readFileSync(`${root}.github/workflows/ci.yml`, 'utf8')
const scripts: { readonly [name: string]: string } = manifest.scripts

test('the workflow runs what .ci/run runs', () => {
  expect(workflow).toMatch(/- run: \.ci\/run$/m)
  expect(() => accessSync(`${root}.ci/run`, constants.X_OK)).not.toThrow()
})

test('the workflow names scripts and tests that exist', () => {
  const named = [...workflow.matchAll(/npm run ([\w:-]+)/g)].map(([, name = '']) => name)
  const files = [...workflow.matchAll(/(?<= )test\/\S+\.ts\b/g)].map(([file]) => file)
  expect(named).toEqual(expect.arrayContaining(['planted', 'mutations']))
  expect(named.filter((name) => !(name in scripts))).toEqual([])
  expect(files).toContain('test/simulation/simulation.test.ts')
  for (const file of files) accessSync(root + file)
})
