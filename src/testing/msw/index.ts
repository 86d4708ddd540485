export { mswHandlers } from './msw-handlers.ts'
