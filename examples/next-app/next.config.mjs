// Do not bundle the service: it imports its optional packages on demand, and a missing one would fail the build. Bundle
// the rest of Instep: its hooks must use the same React as Next.
export default { serverExternalPackages: ['instep/dist/server'] }
