// Instep asks for its optional packages when it needs them; bundled, each that is missing would fail the build.
export default { serverExternalPackages: ['instep'] }
