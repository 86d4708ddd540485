import { isDeepStrictEqual } from 'node:util'
import ts from 'typescript'
import { type Program, titleOf } from './programs.ts'
import type { Stage } from './stage.ts'

/** `client.lastSyncId // → 3`: what an example says of a value is compared with it. */
const claim = /^(\s*)(\S.*?) +\/\/ → (.+)$/gm

const AsyncFunction = (async () => {}).constructor as FunctionConstructor

/** Runs a program to its end. Rejects with what it throws, or where a value is not what the program says. */
export async function run(program: Program, { modules, globals }: Stage): Promise<void> {
  const title = titleOf(program)
  const text = program.text.replace(claim, (_, indent, expression, said) => {
    return `${indent};expectSame((${expression}), (${said}), ${JSON.stringify(expression)})`
  })
  const code = ts
    .transpileModule(text, {
      compilerOptions: {
        module: ts.ModuleKind.CommonJS,
        target: ts.ScriptTarget.ES2022,
        jsx: ts.JsxEmit.ReactJSX,
      },
      ...(program.language === 'tsx' && { fileName: 'program.tsx' }),
    })
    .outputText.replaceAll('import.meta', 'importMeta')
  const names = {
    ...globals,
    importMeta: {},
    exports: {},
    require(name: string) {
      if (Object.hasOwn(modules, name)) return modules[name]
      throw new Error(`There is no module \`${name}\` for the examples.`)
    },
    expectSame(value: unknown, said: unknown, expression: string) {
      if (isDeepStrictEqual(value, said)) return
      throw new Error(`${expression} is ${JSON.stringify(value)}, not ${JSON.stringify(said)}.`)
    },
  }
  try {
    // In a block of its own, so that a program may declare what it could have been given.
    const body = new AsyncFunction(...Object.keys(names), `'use strict'\n{\n${code}\n}`)
    await body(...Object.values(names))
  } catch (error) {
    throw new Error(`${title}: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
}
