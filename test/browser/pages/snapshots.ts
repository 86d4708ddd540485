import { serveSnapshots } from '../../../src/worker/index.ts'

serveSnapshots()
