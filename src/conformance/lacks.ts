import type { OptionalPart } from './outcome.ts'

/** What the clients of a server lack that leaves a part out, in a sentence each. In the order of the report. */
export const lacks: Readonly<Record<OptionalPart, string>> = {
  'POST /tx': 'The clients only read: a call of `mutate` has nowhere to send its changes.',
  'GET /ws': "The clients poll: another user's change shows only after `pollInterval`.",
  'frames in deltas':
    'A removal that is not pushed while a client is in step stays on its screen until the next bootstrap.',
  epoch: 'A restored backup is noticed only while its head is below the position of the client.',
  caller:
    "A client whose credentials become another user's shows and sends that user's data, unless its application provides `identityOf`.",
  count:
    'The progress of a first sync has no fraction, unless there is a `Content-Length` and no compression.',
  lines: 'A first sync takes 3 to 7 % longer.',
  hello:
    'After each opening of a socket, a client fetches one more delta, to know how far it has to catch up.',
  heartbeat: 'A dead socket is noticed only at the next poll.',
  'since in pushes': 'After every burst of pushes, each client fetches a delta.',
  'tx in frames':
    'An undo takes the change at the `sid` of the result, and as many before it as there are ops, for its own.',
  'was in features':
    'An undo is rejected with `conflict` if the record has a change that the client does not have yet.',
  'restores in features':
    'An undo of a removal sends all fields, so that the server may refuse fields that it sets, or set them to other values.',
  'details of id_reused':
    'A transaction that an updated application sends in another form shows as rejected until its change arrives.',
  compression: 'A first sync transfers the data as it is, which takes several times as long on a slow line.',
  CORS: 'A page on another origin cannot read the responses.',
}
