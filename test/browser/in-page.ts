/** One thing to try in a page: it rejects if it does not hold. */
export interface PageCase {
  readonly name: string
  run(): Promise<void>
}

/** Tells the test that opened this page. */
export async function tell(message: {
  readonly type: string
  readonly [field: string]: unknown
}): Promise<void> {
  await fetch('/', { method: 'POST', body: JSON.stringify(message) })
}

/** Asks the page's backend for something, and gives what it answers. */
export async function command(name: string, ...args: readonly unknown[]): Promise<unknown> {
  const response = await fetch('/command', { method: 'POST', body: JSON.stringify({ name, args }) })
  return response.json()
}

/** Fails the test with whatever nobody catches in this page. */
export function tellFailures(): void {
  addEventListener('error', ({ error }) => void tell({ type: 'failed', error: textOf(error) }))
  addEventListener('unhandledrejection', ({ reason }) => void tell({ type: 'failed', error: textOf(reason) }))
}

/** Runs the cases one after another, tells what became of each, and goes to the page that follows. */
export async function runCases(cases: readonly PageCase[]): Promise<void> {
  tellFailures()
  for (const { name, run } of cases) {
    try {
      await run()
      await tell({ type: 'case', name })
    } catch (error) {
      await tell({ type: 'case', name, error: textOf(error) })
    }
  }
  // What nobody caught has been told by then.
  await new Promise((resolve) => setTimeout(resolve))
  await tell({ type: 'done' })
  const following = await fetch('/following')
  location.replace(await following.text())
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error}\n${error.stack}` : String(error)
}
