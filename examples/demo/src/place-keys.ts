import type { KeyboardEvent } from 'react'
import type { Client } from './models.ts'
import { editPlace } from './write.ts'

const neighbour = { ArrowUp: 'previousElementSibling', ArrowDown: 'nextElementSibling' } as const

/** Handles the keys in a list of places: the arrows move the focus, and a digit sets the number of stars. */
export function onPlaceKey(client: Client, event: KeyboardEvent): void {
  const { target, key } = event
  if (!(target instanceof HTMLButtonElement) || event.ctrlKey || event.metaKey || event.altKey) return
  if (key === 'ArrowUp' || key === 'ArrowDown') {
    target.closest('tr')?.[neighbour[key]]?.querySelector('button')?.focus()
    event.preventDefault()
  } else if (/^[0-6]$/.test(key)) {
    const place = client.get('Place', target.value)
    if (place) editPlace(client, place, { rating: Number(key) })
  }
}
