// Draws a result of the benchmark. `node plot.mjs` draws the one that is kept here, as docs has it.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const panels = [
  ['first sync', 'First sync, until durable'],
  ['start-up', 'Start-up from disk'],
]

const left = 90
const barWidth = 480
const rowHeight = 24

// Greys and a blue that can be read on white and on black; a page in dark gets lighter ones where it says that it is.
const style = `text { font: 13px system-ui, sans-serif; fill: #57606a }
  .title { font-weight: 600 }
  .own { fill: #2f81f7 }
  .peer { fill: #8b949e }
  .floor { stroke: #d1242f; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) { text { fill: #b1bac4 } .floor { stroke: #ff7b72 } }`

/** The SVG of a result: how often the time of `fetch` and `res.json()` each one takes. */
export function plotOf({ machine, rows, megabytes, figures }) {
  const names = Object.keys(figures)
  const height = (names.length + 2) * rowHeight
  const parts = panels.map(([column, title], index) => panelOf(column, title, figures, 30 + index * height))
  const note = `Multiples of fetch + res.json() (the red line). ${rows} rows, ${megabytes} MB of JSON.`
  const label = panels.map(([column, title]) => `${title}: ${saying(column, figures)}.`).join(' ')
  const full = 30 + panels.length * height
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 ${full + 30}" role="img" aria-label="${label}">
<style>
  ${style}
</style>
<text x="0" y="15">${note}</text>
${parts.join('\n')}
<text x="0" y="${full + 10}">${machine}</text>
</svg>
`
}

function panelOf(column, title, figures, top) {
  const entries = Object.entries(figures)
  const most = Math.max(...entries.map(([, figure]) => figure[column]))
  const widthOf = (value) => Math.max(1, Math.round((value / most) * barWidth))
  const bars = entries.map(([name, { [column]: value }], index) => {
    const y = top + 26 + index * rowHeight
    const width = widthOf(value)
    return `<text x="${left - 8}" y="${y + 13}" text-anchor="end">${name}</text>
<rect class="${name === 'Instep' ? 'own' : 'peer'}" x="${left}" y="${y}" width="${width}" height="18" rx="2"/>
<text x="${left + width + 6}" y="${y + 13}">${value}×</text>`
  })
  const x = left + widthOf(1)
  const bottom = top + 22 + entries.length * rowHeight
  return `<text class="title" x="0" y="${top + 14}">${title}</text>
${bars.join('\n')}
<line class="floor" x1="${x}" x2="${x}" y1="${top + 22}" y2="${bottom}"/>`
}

function saying(column, figures) {
  return Object.entries(figures)
    .map(([name, figure]) => `${name} ${figure[column]}`)
    .join(', ')
}

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

if (process.argv[1] === here('plot.mjs')) {
  writeFileSync(
    here('../docs/performance.svg'),
    plotOf(JSON.parse(readFileSync(here('result.json'), 'utf8'))),
  )
}
