import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { Device } from './device.ts'

// Clients live longer than components, so they are created and closed outside of React.
const devices = [new Device('ada'), new Device('ben')]

const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App devices={devices} />
    </StrictMode>,
  )
}
