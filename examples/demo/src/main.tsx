import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { Reader } from './reader.ts'

// Clients live as long as the page, and not as long as a component.
const readers = [new Reader('ada'), new Reader('ben')]
void startAll()

/** What is on disk comes one copy after the other, so that the first is there sooner. The network waits for nobody. */
async function startAll() {
  for (const reader of readers) await reader.start()
}

const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App readers={readers} />
    </StrictMode>,
  )
}
