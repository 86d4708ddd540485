export const defaultPort = 5173

/** Prints `message`, and ends the process with exit code 1. */
export function fail(message) {
  console.error(message)
  process.exit(1)
}
