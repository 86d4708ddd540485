import { type FormEvent, useState } from 'react'
import { formatCount } from './format.ts'

const amounts = [1, 5, 50, 500, 5_000]

/** The controls of the server, which change rows for all users. They do not use the cable of a user. */
export function Server() {
  const [rows, setRows] = useState(5)
  const [answer, setAnswer] = useState('')
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setAnswer(await change(rows))
  }
  return (
    <section className="server" aria-labelledby="server">
      <h2 id="server">Server</h2>
      <form onSubmit={submit}>
        <label>
          Move
          <select value={rows} onChange={(event) => setRows(Number(event.target.value))}>
            {amounts.map((amount) => (
              <option key={amount} value={amount}>
                {formatCount(amount)}
              </option>
            ))}
          </select>
          places a little
        </label>
        <button type="submit">Change rows</button>
      </form>
      <p role="status">
        {answer || (
          <>
            or in a terminal:{' '}
            <code>
              npm run demo:change -- --rows {rows} --url {location.origin}
            </code>
          </>
        )}
      </p>
    </section>
  )
}

async function change(rows: number): Promise<string> {
  try {
    const headers = { 'Content-Type': 'application/json' }
    const response = await fetch('/change', { method: 'POST', headers, body: JSON.stringify({ rows }) })
    const { sid, error }: { sid: number; error?: string } = await response.json()
    return (
      error ??
      `Changed ${formatCount(rows)} ${rows === 1 ? 'row' : 'rows'}; now at position ${formatCount(sid)}.`
    )
  } catch {
    return 'The server does not answer.'
  }
}
