// The service asks for its optional packages when it needs them; bundled, each that is missing would fail the build. All
// else of Instep is to be bundled: left out, its hooks would find another React than that of Next.
export default { serverExternalPackages: ['instep/dist/server'] }
