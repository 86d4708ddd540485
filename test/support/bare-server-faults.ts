export interface BareRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** Names in lower case. */
  readonly headers: { readonly [name: string]: string | undefined }
}

export interface BareResponse {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: readonly (string | Uint8Array)[]
  /**
   * `whole`: it ends as it should. `cut`: the connection breaks behind the body. `stalled`: the body never ends.
   * `silent`: nothing is sent at all, not even a status, and nothing ends. `dropped`: nothing is sent, and the
   * connection breaks. @default 'whole'
   */
  readonly ending?: 'whole' | 'cut' | 'stalled' | 'silent' | 'dropped'
}

/** Makes another answer of the one that the server would have given. */
export type BareFault = (answer: BareResponse, request: BareRequest) => BareResponse

const html = '<!doctype html><title>Sign in</title><p>Accept the terms of this network.</p>'

/** What may stand in place of an answer. */
export const faults = {
  /** Any other answer. */
  answer:
    (status: number, body = '', headers: BareResponse['headers'] = {}): BareFault =>
    () => ({ status, headers, body: [body] }),
  /** A captive portal's page. */
  portal: (): BareFault => () => ({ status: 200, headers: { 'content-type': 'text/html' }, body: [html] }),
  noContent: (): BareFault => () => ({ status: 204, headers: {}, body: [] }),
  gone: (): BareFault => faults.answer(410, 'Gone'),
  tooMany: (retryAfter: string): BareFault => faults.answer(429, 'Slow down', { 'retry-after': retryAfter }),
  redirect: (location: string): BareFault => faults.answer(302, '', { location }),
  brokenJson: (): BareFault => (answer) => ({ ...answer, body: [...answer.body, ']'] }),
  /** Says that it is compressed, and is not. */
  badGzip: (): BareFault => (answer) => {
    return { ...answer, headers: { ...answer.headers, 'content-encoding': 'gzip' } }
  },
  /** The first `share` of the body, after which the connection breaks, or ends as if all had come. */
  truncated:
    (share: number, ending: 'cut' | 'whole' | 'stalled' = 'cut'): BareFault =>
    (answer) => {
      const bytes = bytesOf(answer)
      return { ...answer, body: [bytes.subarray(0, Math.floor(bytes.length * share))], ending }
    },
  dropped: (): BareFault => (answer) => ({ ...answer, ending: 'dropped' }),
  silent: (): BareFault => (answer) => ({ ...answer, ending: 'silent' }),
}

export function bytesOf(answer: BareResponse): Buffer {
  return Buffer.concat(answer.body.map((chunk) => Buffer.from(chunk)))
}

interface PlannedFault {
  readonly fault: BareFault
  readonly path: string | undefined
}

/** The faults of the requests to come. */
export class FaultPlan {
  #planned: PlannedFault[] = []

  add(fault: BareFault, times: number, path: string | undefined): void {
    for (let time = 0; time < times; time += 1) this.#planned.push({ fault, path })
  }

  clear(): void {
    this.#planned = []
  }

  /** The first that is meant for `path`, which is then used up. */
  take(path: string): BareFault | undefined {
    const found = this.#planned.find((planned) => planned.path === undefined || path.endsWith(planned.path))
    this.#planned = this.#planned.filter((planned) => planned !== found)
    return found?.fault
  }
}
