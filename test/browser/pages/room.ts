import { runCases } from '../in-page.ts'
import { roomCases } from '../room-cases.ts'

await runCases(roomCases)
