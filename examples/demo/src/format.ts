const integer = new Intl.NumberFormat('en')
const megabytes = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })
const percent = new Intl.NumberFormat('en', { style: 'percent' })
const degrees = new Intl.NumberFormat('en', { minimumFractionDigits: 4, maximumFractionDigits: 4 })
const time = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })

export const formatCount = (count: number) => integer.format(count)
export const formatBytes = (bytes: number) => `${megabytes.format(bytes / 1e6)} MB`
export const formatFraction = (fraction: number) => percent.format(fraction)
export const formatDuration = (ms: number) =>
  ms < 1_000 ? `${integer.format(Math.round(ms))} ms` : `${megabytes.format(ms / 1_000)} s`
export const formatTime = (ms: number) => time.format(ms)
export const formatStars = (stars: number) => '★'.repeat(stars)
export const describeStars = (stars: number) => (stars === 1 ? '1 star' : `${stars} stars`)
export const formatLatitude = (value: number) =>
  `${degrees.format(Math.abs(value))}° ${value < 0 ? 'S' : 'N'}`
