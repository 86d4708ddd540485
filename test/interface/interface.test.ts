import { afterAll, beforeAll } from 'vitest'
import { describeCredentialKinds } from './chapters/credential-kinds.ts'
import { describeCredentials } from './chapters/credentials.ts'
import { describeReading } from './chapters/reading.ts'
import { describeRealtime } from './chapters/realtime.ts'
import { describeWriting } from './chapters/writing.ts'
import { type Grounds, kinds, openGrounds } from './grounds.ts'
import { type Serve, serveOn } from './site.ts'

let grounds: Grounds

beforeAll(async () => {
  grounds = await openGrounds()
})

afterAll(() => grounds.close())

// What the interface says of the service, over real HTTP and real sockets, on whatever the service can stand on.
for (const kind of kinds) {
  const log = () => grounds.log(kind)
  const serve: Serve = async (options, serving) => serveOn(await log(), options, serving)
  describeCredentials(kind, log, serve)
  describeCredentialKinds(kind, serve)
  describeReading(kind, serve)
  describeRealtime(kind, serve)
  describeWriting(kind, serve)
}
